"use client";
import { useTranslations } from "next-intl";
import { ChangeAction } from "../other-actions.tsx";
import { CutOutAction } from "./cut-out-action.tsx";
import { RemoveAction } from "./remove-action.tsx";
import { RepaintAction } from "./repaint-action.tsx";
import { RestoreFacesAction } from "./restore-faces-action.tsx";
import type { ActionProps } from "./action-row.tsx";
import { UpscaleAction } from "./upscale-action.tsx";
import { useEditRemix } from "../use-edit-remix.ts";
import type { EditorSession } from "../use-editor.ts";

interface Props extends ActionProps {
  readonly session: EditorSession;
}

export function EditActions({ session, ...rest }: Props) {
  const t = useTranslations("edit");
  const start = useEditRemix();
  return (
    <section aria-label={t("actions")} className="flex flex-col gap-4">
      <RemoveAction history={session.history} {...rest} />
      <RepaintAction key={`repaint ${start.key}`} history={session.history} words={start.repaint} {...rest} />
      <ChangeAction key={`change ${start.key}`} start={start.change} {...rest} />
      <UpscaleAction key={`upscale ${start.key}`} start={start.scale} {...rest} />
      <CutOutAction {...rest} />
      <RestoreFacesAction {...rest} />
    </section>
  );
}

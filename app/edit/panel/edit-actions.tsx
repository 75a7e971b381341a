"use client";
import { useTranslations } from "next-intl";
import { CutOutAction } from "./cut-out-action.tsx";
import { RemoveAction } from "./remove-action.tsx";
import type { ActionProps } from "./action-row.tsx";
import { UpscaleAction } from "./upscale-action.tsx";
import type { EditorSession } from "../use-editor.ts";

interface Props extends ActionProps {
  readonly session: EditorSession;
}

export function EditActions({ session, ...rest }: Props) {
  const t = useTranslations("edit");
  return (
    <section aria-label={t("actions")} className="flex flex-col gap-4">
      <RemoveAction history={session.history} {...rest} />
      <UpscaleAction {...rest} />
      <CutOutAction {...rest} />
    </section>
  );
}

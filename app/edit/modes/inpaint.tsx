"use client";
import { Eraser, PaintbrushVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { failureOf, NotWanted } from "../../ui/failures.ts";
import { useCapability } from "../../client/queries.ts";
import { uploadMask } from "../mask/export.ts";
import { hasPaint, type Mark } from "../mask/marks.ts";
import {
  ModeAction,
  ModeHint,
  type ModeProps,
  paintsBy,
  PromptField,
  RunChoice,
  settingsOf,
  takesPictures,
  useRun,
} from "./parts.tsx";

interface SentMask {
  readonly imageId: string;
  readonly marks: readonly Mark[];
  readonly id: string;
}

/** Uploads the mask of these marks once, so that the same input is the same request. */
export function useMask(image: ImageView) {
  const sent = useRef<SentMask | null>(null);
  const send = async (marks: readonly Mark[]): Promise<string> => {
    const known = sent.current;
    if (known?.imageId === image.id && known.marks === marks) return known.id;
    const id = await uploadMask(image, marks);
    sent.current = { imageId: image.id, marks, id };
    return id;
  };
  /** After an answer the mask may be deleted, so that the next request uploads it again; not so where none came. */
  const settle = (error: unknown) => {
    if (error === null || !(error instanceof NotWanted || failureOf(error).code === "offline"))
      sent.current = null;
  };
  return { send, settle };
}

/** Before it is painted a mask is named by its picture, whose size it will have. */
const inputsForQuote = ({ id }: ImageView) => ({ image: id, mask: id });

const maskRoles = ["image", "mask"];

/** Remove: what is marked goes, what is around it closes over it. */
export function RemoveMode({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const mask = useMask(image);
  const capability = useCapability("inpaint");
  const run = useRun({
    modes,
    mode: "remove",
    kind: "inpaint",
    fits: (workflow) => takesPictures(workflow, maskRoles) && workflow.params.prompt?.required !== true,
    automatic: "server",
  });
  const { history } = session;
  const { marks } = history;
  const isOff = capability?.available === false;
  const missing = hasPaint(history, image) ? null : t("removeHint");
  const base = { kind: "inpaint", params: run.params, ...run.choice } as const;
  const quoted = { ...base, inputs: inputsForQuote(image) };
  return (
    <>
      <ModeHint mode="remove" />
      <RunChoice run={run} image={image} quoted={quoted} />
      <ModeAction
        icon={<Eraser aria-hidden />}
        label={t("removeObject")}
        obstacle={isOff ? (capability.reason ?? t("modes.none")) : missing}
        quoted={isOff ? null : quoted}
        makeRequest={async () => ({ ...base, inputs: { image: image.id, mask: await mask.send(marks) } })}
        spent={marks}
        onSettled={mask.settle}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

/** Replace: what is marked becomes what the prompt says. */
export function ReplaceMode({ image, session, modes, isBusy, onJob, candidates }: ModeProps) {
  const t = useTranslations("edit");
  const mask = useMask(image);
  const [settings, change] = settingsOf(modes, "replace");
  const run = useRun({
    modes,
    mode: "replace",
    kind: "inpaint",
    fits: (workflow) => paintsBy(workflow, maskRoles),
    automatic: "best",
  });
  const { history } = session;
  const { marks } = history;
  const prompt = settings.prompt.trim();
  const base = { kind: "inpaint", params: { prompt, ...run.params }, ...run.choice } as const;
  const quoted = { ...base, inputs: inputsForQuote(image) };
  const obstacle = () => {
    if (run.used === undefined) return t("modes.replace.none");
    if (!hasPaint(history, image)) return t(modes.remixId === null ? "repaintHint" : "repaintAgainHint");
    return prompt === "" ? t("modes.promptMissing") : null;
  };
  return (
    <>
      <ModeHint mode="replace" />
      <PromptField
        label={t("repaintPrompt")}
        hint={t("repaintPromptHint")}
        value={settings.prompt}
        onChange={(text) => change({ prompt: text })}
      />
      <RunChoice run={run} image={image} count={candidates.count} quoted={quoted} />
      <ModeAction
        icon={<PaintbrushVertical aria-hidden />}
        label={t("repaint")}
        obstacle={obstacle()}
        quoted={run.used === undefined || prompt === "" ? null : quoted}
        makeRequest={async () => ({ ...base, inputs: { image: image.id, mask: await mask.send(marks) } })}
        spent={marks}
        onSettled={mask.settle}
        candidates={candidates}
        seeds={run.used?.params.seed}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

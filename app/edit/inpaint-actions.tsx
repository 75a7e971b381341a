"use client";
import { useMutation } from "@tanstack/react-query";
import { Eraser, PaintbrushVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { api, newId } from "../client/api.ts";
import { failureOf, useFailureToast } from "../client/failures.ts";
import { useCapability, useWorkflows } from "../client/queries.ts";
import { Button } from "../ui/button.tsx";
import { type ActionProps, ActionRow, findForPrompt, PromptField } from "./action-row.tsx";
import { hasPaint, type Stroke, type StrokeHistory, uploadMask } from "./mask.ts";

export interface InpaintWish {
  readonly strokes: readonly Stroke[];
  /** Prompt and workflow for repainting; without them the marked object is removed. */
  readonly prompt?: string;
  readonly workflow?: string;
}

interface Prepared {
  readonly image: Pick<ImageView, "id">;
  readonly wish: InpaintWish;
  readonly mask: string;
  readonly idempotencyKey: string;
}

/** Whether a wish makes the very request that was prepared last: the idempotency key belongs to one request. */
export function isSame(
  last: Prepared | null,
  image: Pick<ImageView, "id">,
  wish: InpaintWish,
): last is Prepared {
  return (
    last?.image.id === image.id &&
    last.wish.strokes === wish.strokes &&
    last.wish.prompt === wish.prompt &&
    last.wish.workflow === wish.workflow
  );
}

/** Sends the marked area and starts the work; the same wish sent again after a lost answer is the same request. */
function useInpaint(image: ImageView, onJob: ActionProps["onJob"]) {
  const showFailure = useFailureToast();
  const prepared = useRef<Prepared | null>(null);
  return useMutation({
    mutationFn: async (wish: InpaintWish) => {
      const request = isSame(prepared.current, image, wish)
        ? prepared.current
        : { image, wish, mask: await uploadMask(image, wish.strokes), idempotencyKey: newId() };
      prepared.current = request;
      const { mask, idempotencyKey } = request;
      const { prompt, workflow } = wish;
      const job = await api.jobs.submit.mutate({
        kind: "inpaint",
        params: prompt === undefined ? {} : { prompt },
        ...(workflow === undefined ? {} : { workflow }),
        inputs: { image: image.id, mask },
        idempotencyKey,
      });
      prepared.current = null;
      return job;
    },
    onSuccess: (job, { strokes }) => onJob(job.id, strokes),
    onError: (error) => {
      // Whatever the server refused, its mask may be gone too.
      if (failureOf(error).code !== "offline") prepared.current = null;
      showFailure(error);
    },
  });
}

interface RemoveActionProps extends ActionProps {
  readonly history: StrokeHistory;
}

export function RemoveAction({ image, history, isBusy, onJob }: RemoveActionProps) {
  const t = useTranslations("edit");
  const remove = useInpaint(image, onJob);
  const capability = useCapability("inpaint");
  const isMarked = hasPaint(history);
  return (
    <ActionRow hint={capability?.reason ?? (isMarked ? null : t("removeHint"))}>
      <Button
        look="primary"
        disabled={isBusy || remove.isPending || !isMarked || capability?.available === false}
        onClick={() => remove.mutate({ strokes: history.strokes })}
      >
        <Eraser aria-hidden />
        {t("removeObject")}
      </Button>
    </ActionRow>
  );
}

interface RepaintActionProps extends ActionProps {
  readonly history: StrokeHistory;
  readonly startPrompt: string;
}

/** Replaces the masked area as the prompt describes; shown when a live workflow can do it. */
export function RepaintAction({ image, history, isBusy, onJob, startPrompt }: RepaintActionProps) {
  const t = useTranslations("edit");
  const inpaint = useInpaint(image, onJob);
  const [text, setText] = useState(startPrompt);
  const workflow = findForPrompt(useWorkflows("inpaint"), ["image", "mask"]);
  if (workflow === undefined) return null;
  const isMarked = hasPaint(history);
  const prompt = text.trim();
  return (
    <ActionRow hint={isMarked ? null : t(startPrompt === "" ? "repaintHint" : "repaintAgainHint")}>
      <PromptField label={t("repaintPrompt")} hint={t("repaintPromptHint")} value={text} onChange={setText} />
      <Button
        disabled={isBusy || inpaint.isPending || !isMarked || prompt === ""}
        onClick={() => inpaint.mutate({ strokes: history.strokes, workflow: workflow.name, prompt })}
      >
        <PaintbrushVertical aria-hidden />
        {t("repaint")}
      </Button>
    </ActionRow>
  );
}

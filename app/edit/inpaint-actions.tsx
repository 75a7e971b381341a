"use client";
import { useMutation } from "@tanstack/react-query";
import { Eraser, PaintbrushVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import type { SubmitInput } from "@atelier/server/jobs";
import { failureOf, NotWanted, useFailureToast } from "../client/failures.ts";
import { useWorkflows } from "../client/cloud.ts";
import { type OfferedWorkflow, useCapability } from "../client/queries.ts";
import { agreedToChoice, choiceOf, createJobSubmission, submitAgreed } from "../client/submit.ts";
import { Button } from "../ui/button.tsx";
import { type ActionProps, ActionRow, findForPrompt, placeOf, PromptField } from "./action-row.tsx";
import { hasPaint, type Mark, type MarkHistory, uploadMask } from "./mask.ts";

/** What the user requested. Prompt and workflow are set for "Replace with prompt" and missing for "Remove object". */
interface InpaintInput {
  readonly marks: readonly Mark[];
  readonly prompt?: string;
  readonly workflow?: Pick<OfferedWorkflow, "name" | "cloud">;
}

interface SentMask {
  readonly imageId: string;
  readonly marks: readonly Mark[];
  readonly id: string;
}

/** Uploads the mask of these marks once, so that the same input is the same request. */
function useMask(image: ImageView) {
  const sent = useRef<SentMask | null>(null);
  const send = async (marks: readonly Mark[]): Promise<string> => {
    const known = sent.current;
    if (known?.imageId === image.id && known.marks === marks) return known.id;
    const id = await uploadMask(image, marks);
    sent.current = { imageId: image.id, marks, id };
    return id;
  };
  const forget = () => void (sent.current = null);
  return { send, forget };
}

/** Uploads the mask and submits the job. Equal input after a lost answer repeats the same request. */
function useInpaint(image: ImageView, onJob: ActionProps["onJob"]) {
  const showFailure = useFailureToast();
  const mask = useMask(image);
  const [submission] = useState(createJobSubmission);
  return useMutation({
    mutationFn: async ({ marks, prompt, workflow }: InpaintInput) => {
      const request: SubmitInput = {
        kind: "inpaint",
        params: prompt === undefined ? {} : { prompt },
        ...(workflow === undefined ? {} : choiceOf(workflow)),
        inputs: { image: image.id, mask: await mask.send(marks) },
      };
      const [job] = await submitAgreed(submission, [request], agreedToChoice(workflow));
      return job;
    },
    onSuccess: (job, { marks }) => {
      mask.forget();
      if (job !== undefined) onJob(job.id, marks);
    },
    onError: (error) => {
      // The server refused the request; the mask may be deleted, so the next request uploads it again.
      if (!(error instanceof NotWanted) && failureOf(error).code !== "offline") mask.forget();
      showFailure(error);
    },
  });
}

interface RemoveActionProps extends ActionProps {
  readonly history: MarkHistory;
}

/** "Remove object"; disabled until the user has painted a mask. */
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
        onClick={() => remove.mutate({ marks: history.marks })}
      >
        <Eraser aria-hidden />
        {t("removeObject")}
      </Button>
    </ActionRow>
  );
}

interface RepaintActionProps extends ActionProps {
  readonly history: MarkHistory;
  readonly startPrompt: string;
}

/** "Replace with prompt"; hidden while no live workflow can run it. */
export function RepaintAction({ image, history, isBusy, onJob, startPrompt }: RepaintActionProps) {
  const t = useTranslations("edit");
  const inpaint = useInpaint(image, onJob);
  const [text, setText] = useState(startPrompt);
  const workflow = findForPrompt(useWorkflows("inpaint"), ["image", "mask"]);
  if (workflow === undefined) return null;
  const isMarked = hasPaint(history);
  const prompt = text.trim();
  return (
    <ActionRow
      hint={isMarked ? placeOf(workflow) : t(startPrompt === "" ? "repaintHint" : "repaintAgainHint")}
    >
      <PromptField label={t("repaintPrompt")} hint={t("repaintPromptHint")} value={text} onChange={setText} />
      <Button
        disabled={isBusy || inpaint.isPending || !isMarked || prompt === ""}
        onClick={() => inpaint.mutate({ marks: history.marks, workflow, prompt })}
      >
        <PaintbrushVertical aria-hidden />
        {t("repaint")}
      </Button>
    </ActionRow>
  );
}

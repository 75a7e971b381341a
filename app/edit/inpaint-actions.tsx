"use client";
import { useMutation } from "@tanstack/react-query";
import { Eraser, PaintbrushVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { api, newId } from "../client/api.ts";
import { failureOf, useFailureToast } from "../client/failures.ts";
import { ownOnly, useWorkflows } from "../client/cloud.ts";
import { type OfferedWorkflow, useCapability } from "../client/queries.ts";
import { choiceOf } from "../client/submit.ts";
import { Button } from "../ui/button.tsx";
import { type ActionProps, ActionRow, findForPrompt, placeOf, PromptField } from "./action-row.tsx";
import { hasPaint, type Mark, type MarkHistory, uploadMask } from "./mask.ts";

/** What the user requested. Prompt and workflow are set for "Replace with prompt" and missing for "Remove object". */
export interface InpaintInput {
  readonly marks: readonly Mark[];
  readonly prompt?: string;
  readonly workflow?: Pick<OfferedWorkflow, "name" | "cloud">;
  /** The picture stays on the studio's own machines. */
  readonly ownOnly?: boolean;
}

/** A request whose mask is uploaded. Kept until the job is accepted, so that a repeat uses the same key. */
interface PreparedRequest {
  readonly image: Pick<ImageView, "id">;
  readonly input: InpaintInput;
  /** Id of the uploaded mask. */
  readonly maskId: string;
  readonly idempotencyKey: string;
}

/** Whether image and input are those of the prepared request: its idempotency key is valid for that request only. */
export function isSameRequest(
  last: PreparedRequest | null,
  image: Pick<ImageView, "id">,
  input: InpaintInput,
): last is PreparedRequest {
  return (
    last?.image.id === image.id &&
    last.input.marks === input.marks &&
    last.input.prompt === input.prompt &&
    last.input.ownOnly === input.ownOnly &&
    last.input.workflow?.name === input.workflow?.name
  );
}

/** Uploads the mask and submits the job. Equal input after a lost answer repeats the same request. */
function useInpaint(image: ImageView, onJob: ActionProps["onJob"]) {
  const showFailure = useFailureToast();
  const prepared = useRef<PreparedRequest | null>(null);
  return useMutation({
    mutationFn: async (given: InpaintInput) => {
      const input = { ...given, ownOnly: ownOnly.get() };
      const request = isSameRequest(prepared.current, image, input)
        ? prepared.current
        : { image, input, maskId: await uploadMask(image, input.marks), idempotencyKey: newId() };
      prepared.current = request;
      const { maskId, idempotencyKey } = request;
      const { prompt, workflow } = input;
      const job = await api.jobs.submit.mutate({
        kind: "inpaint",
        params: prompt === undefined ? {} : { prompt },
        ...(workflow === undefined ? {} : choiceOf(workflow)),
        ownOnly: input.ownOnly,
        inputs: { image: image.id, mask: maskId },
        idempotencyKey,
      });
      prepared.current = null;
      return job;
    },
    onSuccess: (job, { marks }) => onJob(job.id, marks),
    onError: (error) => {
      // The server refused the request; the mask may be deleted, so the next request uploads it again.
      if (failureOf(error).code !== "offline") prepared.current = null;
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

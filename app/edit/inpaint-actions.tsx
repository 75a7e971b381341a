"use client";
import type { ImageView } from "@atelier/server/images";
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { api } from "../client/api.ts";
import { newId } from "../data/new-id.ts";
import { failureOf } from "../client/failures.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import type { Stroke } from "./mask/stroke.ts";
import { uploadMask } from "./mask/upload-mask.ts";
import type { ActionProps } from "./panel/action-row.tsx";

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
export function useInpaint(image: ImageView, onJob: ActionProps["onJob"]) {
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

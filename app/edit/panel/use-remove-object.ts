"use client";
import type { ImageView } from "@atelier/server/images";
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { api } from "../../data/api.ts";
import { newId } from "../../data/new-id.ts";
import { failureOf } from "../../data/failure.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import type { Stroke } from "../mask/stroke.ts";
import { uploadMask } from "../mask/upload-mask.ts";
import type { ActionProps } from "./action-row.tsx";

interface Prepared {
  readonly image: ImageView;
  readonly strokes: readonly Stroke[];
  readonly mask: string;
  readonly idempotencyKey: string;
}

/** Sends the marked area and starts the removal; the same marks sent again after a lost answer are the same request. */
export function useRemoveObject(image: ImageView, onJob: ActionProps["onJob"]) {
  const showFailure = useFailureToast();
  const prepared = useRef<Prepared | null>(null);
  return useMutation({
    mutationFn: async (strokes: readonly Stroke[]) => {
      const last = prepared.current;
      const request =
        last?.image.id === image.id && last.strokes === strokes
          ? last
          : { image, strokes, mask: await uploadMask(image, strokes), idempotencyKey: newId() };
      prepared.current = request;
      const { mask, idempotencyKey } = request;
      const job = await api.jobs.submit.mutate({
        kind: "inpaint",
        inputs: { image: image.id, mask },
        idempotencyKey,
      });
      prepared.current = null;
      return job;
    },
    onSuccess: (job, strokes) => onJob(job.id, strokes),
    onError: (error) => {
      // Whatever the server refused, its mask may be gone too.
      if (failureOf(error).code !== "offline") prepared.current = null;
      showFailure(error);
    },
  });
}

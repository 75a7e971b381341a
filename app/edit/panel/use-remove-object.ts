"use client";
import type { ImageView } from "@atelier/server/images";
import { useMutation } from "@tanstack/react-query";
import { api } from "../../data/api.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { sendFile } from "../../uploads/send-file.ts";
import { exportMask } from "../mask/export-mask.ts";
import type { Stroke } from "../mask/stroke.ts";

async function uploadMask(image: ImageView, strokes: readonly Stroke[]): Promise<string> {
  const file = await exportMask(strokes, image);
  const sent = await sendFile({ file, name: "mask.png", role: "mask", signal: new AbortController().signal });
  if (!sent.ok) throw sent.failure;
  return sent.image.id;
}

/** Sends the marked area and starts the removal. */
export function useRemoveObject(image: ImageView, onJob: (jobId: string) => void) {
  const onError = useFailureToast();
  return useMutation({
    mutationFn: async (strokes: readonly Stroke[]) => {
      const mask = await uploadMask(image, strokes);
      return api.jobs.submit.mutate({ kind: "inpaint", inputs: { image: image.id, mask } });
    },
    onSuccess: (job) => onJob(job.id),
    onError,
  });
}

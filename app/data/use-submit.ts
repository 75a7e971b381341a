"use client";
import type { SubmitInput } from "@atelier/server/jobs";
import { useMutation } from "@tanstack/react-query";
import { api } from "./api.ts";
import { useFailureToast } from "./use-failure-toast.ts";

/** Starts a job; a second click while the first is under way repeats the same request, not the work. */
export function useSubmit(onSubmitted?: (jobId: string) => void) {
  const showFailure = useFailureToast();
  return useMutation({
    mutationFn: (input: SubmitInput) =>
      api.jobs.submit.mutate({ ...input, idempotencyKey: crypto.randomUUID() }),
    onSuccess: (job) => onSubmitted?.(job.id),
    onError: showFailure,
  });
}

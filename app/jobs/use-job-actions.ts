"use client";
import { useMutation } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";

export function useCancelJob(id: string) {
  const onError = useFailureToast();
  return useMutation({ mutationFn: () => api.jobs.cancel.mutate({ id }), onError });
}

/** A retry is a new job; `onRetried` gets its id. */
export function useRetryJob(id: string, onRetried?: (jobId: string) => void) {
  const onError = useFailureToast();
  return useMutation({
    mutationFn: () => api.jobs.retry.mutate({ id }),
    onSuccess: (job) => onRetried?.(job.id),
    onError,
  });
}

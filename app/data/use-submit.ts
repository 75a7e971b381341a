"use client";
import type { SubmitInput } from "@atelier/server/jobs";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../client/api.ts";
import { failureOf } from "../client/failures.ts";
import { createRequestKey } from "./request-key.ts";
import { useFailureToast } from "./use-failure-toast.ts";

/** Starts a job; a second click while the first is under way, or after a lost answer, repeats the request, not the work. */
export function useSubmit(onSubmitted?: (jobId: string) => void) {
  const showFailure = useFailureToast();
  const [requestKey] = useState(createRequestKey);
  return useMutation({
    mutationFn: async (input: SubmitInput) => {
      const idempotencyKey = requestKey.keyFor(input);
      const job = await api.jobs.submit.mutate({ ...input, idempotencyKey });
      requestKey.settle(idempotencyKey);
      return job;
    },
    onSuccess: (job) => onSubmitted?.(job.id),
    onError: (error, input) => {
      // The job that an earlier try made is gone: the key would be refused for ever.
      if (failureOf(error).code === "conflict") requestKey.settle(requestKey.keyFor(input));
      showFailure(error);
    },
  });
}

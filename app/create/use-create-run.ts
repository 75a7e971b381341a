"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../data/api.ts";
import { failureOf } from "../data/failure.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { createBatchKeys } from "./batch-keys.ts";
import type { CreateRequest } from "./form/requests-of.ts";

/** Starts one job per picture, in their order; the first refusal ends it, and the same press goes on from there. */
export function useCreateRun() {
  const showFailure = useFailureToast();
  const queries = useQueryClient();
  const [batches] = useState(createBatchKeys);
  return useMutation({
    mutationFn: async (requests: readonly CreateRequest[]) => {
      const { keys: requestKeys, started } = batches.open(requests);
      for (const [index, request] of requests.entries()) {
        if (started.has(index)) continue;
        await api.jobs.submit.mutate({ ...request, idempotencyKey: requestKeys[index] });
        started.add(index);
      }
      batches.settle();
    },
    onError: (error) => {
      // The job that an earlier try made is gone: its key would be refused for ever.
      if (failureOf(error).code === "conflict") batches.settle();
      showFailure(error);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.estimates }),
  });
}

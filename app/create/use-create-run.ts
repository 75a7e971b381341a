"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../data/api.ts";
import { failureOf } from "../data/failure.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { createBatchKeys } from "./batch-keys.ts";
import type { CreateRequest } from "./form/requests-of.ts";

/** Starts one job per picture; after a refusal the same press asks only for those that did not start. */
export function useCreateRun() {
  const showFailure = useFailureToast();
  const queries = useQueryClient();
  const [batches] = useState(createBatchKeys);
  return useMutation({
    mutationFn: async (requests: readonly CreateRequest[]) => {
      const { keys: requestKeys, started } = batches.open(requests);
      // Side by side, so that they travel as one request and leaving the page loses none.
      const answers = await Promise.allSettled(
        requests.map(async (request, index) => {
          if (started.has(index)) return;
          await api.jobs.submit.mutate({ ...request, idempotencyKey: requestKeys[index] });
          started.add(index);
        }),
      );
      const refused = answers.find((answer) => answer.status === "rejected");
      if (refused !== undefined) throw refused.reason;
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

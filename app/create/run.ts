"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { failureOf } from "../client/failures.ts";
import { keys } from "../data/keys.ts";
import { useFailureText } from "../data/use-failure-text.ts";
import { toastFailure } from "../ui/toasts.ts";
import { createBatchKeys } from "../client/submit.ts";
import type { CreateRequest } from "./requests.ts";

/** Says what went wrong, and first how many started if some did. */
function useBatchFailureToast() {
  const t = useTranslations("create");
  const textOf = useFailureText();
  return (error: unknown, started: number, count: number) => {
    const { title, advice } = textOf(failureOf(error));
    if (started === 0) toastFailure(title, advice);
    else toastFailure(t("partly", { started, count }), `${title}. ${advice}`);
  };
}

/** Starts one job per picture; after a refusal the same press asks only for those that did not start. */
export function useCreateRun() {
  const showFailure = useBatchFailureToast();
  const queries = useQueryClient();
  const [batches] = useState(createBatchKeys);
  const run = useMutation({
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
      for (const [index, answer] of answers.entries()) {
        // The job that an earlier try made is gone: its key would be refused for ever.
        if (answer.status === "rejected" && failureOf(answer.reason).code === "conflict")
          batches.renew(requests, index);
      }
      const refused = answers.find((answer) => answer.status === "rejected");
      if (refused !== undefined) throw refused.reason;
      batches.settle();
    },
    onError: (error, requests) =>
      showFailure(error, requests.length - (batches.left(requests) ?? requests.length), requests.length),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.estimates }),
  });
  return { ...run, left: (requests: readonly CreateRequest[]) => batches.left(requests) };
}

"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { BatchEstimate, BatchInput } from "@atelier/server/batches";
import { type Agreed, askPrice, freeOnly, withAgreement } from "./agreement.ts";
import { api } from "../api.ts";
import { ownOnly, useOwnOnly } from "../cloud.ts";
import { failureOf, useFailureToast } from "../../ui/failures.ts";
import { keys } from "../queries.ts";
import { createSubmission } from "./submission.ts";
import { useEstimateOf } from "./job.ts";

/** Keeps all jobs of a batch on the studio's own machines where the user chose so. */
export function withChoice<Input extends BatchInput>(input: Input, isOwnOnly: boolean): Input {
  if (!isOwnOnly) return input;
  return "jobs" in input
    ? { ...input, jobs: input.jobs.map((job) => ({ ...job, ownOnly: true })) }
    : { ...input, base: { ...input.base, ownOnly: true } };
}

/** What a batch would cost and take now; undefined until it is known. Null asks for nothing. */
export function useBatchEstimate(input: BatchInput | null): BatchEstimate | undefined {
  const isOwnOnly = useOwnOnly();
  const chosen = input === null ? null : withChoice(input, isOwnOnly);
  return useEstimateOf(chosen, (asked) => api.batches.estimate.mutate(asked));
}

/** What all of a batch may cost. What was not shown yet and costs something is asked for. Throws `NotWanted`. */
async function findAgreement(input: BatchInput): Promise<Agreed> {
  const { cloud, cloudJobs, maxPriceUsd } = await api.batches.estimate.mutate(input);
  // What has no known price is refused by the server, with the reason.
  if (cloud === null || maxPriceUsd === null || maxPriceUsd === 0) return freeOnly;
  const eachUsd = maxPriceUsd / cloudJobs;
  await askPrice({ ...cloud, priceUsd: eachUsd, maxPriceUsd: eachUsd }, cloudJobs);
  return { maxPriceUsd };
}

/** The price of all jobs together has changed; a refusal of one job does not mean that. */
function isDearer(error: unknown): boolean {
  const { code, details } = failureOf(error);
  return code === "not_agreed" && typeof details?.["priceUsd"] === "number";
}

export const createBatchSubmission = () =>
  createSubmission("batch", (input: BatchInput, idempotencyKey) =>
    api.batches.submit.mutate({ ...input, idempotencyKey }),
  );

interface Wanted {
  readonly input: BatchInput;
  /** The price of the estimate that the page showed; without it the user is asked where it costs something. */
  readonly shownUsd?: number | null | undefined;
}

/** Starts a batch, on own machines alone where the user chose so, for what was shown and nothing dearer. Throws `NotWanted`. */
export async function submitBatch(
  submission: ReturnType<typeof createBatchSubmission>,
  { input, shownUsd = null }: Wanted,
) {
  const chosen = withChoice(input, ownOnly.get());
  const [batch] = await withAgreement(
    shownUsd === null ? await findAgreement(chosen) : { maxPriceUsd: shownUsd },
    ({ maxPriceUsd }) => submission.send([chosen], (sent) => ({ ...sent, maxPriceUsd })),
    async (error) => (isDearer(error) ? findAgreement(chosen) : null),
  );
  if (batch === undefined) throw new Error("a batch that was sent has an answer");
  return batch;
}

/**
 * Starts batches. The same batch sent again after a lost answer starts no second one. `onSubmitted` is called wherever the user
 * is by then; what leads to another page belongs to the call of `mutate`, which forgets it when its part of the page goes.
 */
export function useSubmitBatch(onSubmitted?: (batch: { readonly id: string }, wanted: Wanted) => void) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const [submission] = useState(createBatchSubmission);
  return useMutation({
    mutationFn: (wanted: Wanted) => submitBatch(submission, wanted),
    onSuccess: (batch, wanted) => onSubmitted?.(batch, wanted),
    onError: showFailure,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: keys.batches });
      await queries.invalidateQueries({ queryKey: keys.estimates });
    },
  });
}

"use client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import { useSettled } from "../../ui/hooks.ts";
import { type Agreed, askAboutJob, askPrice, freeOnly, withAgreement } from "./agreement.ts";
import { api } from "../api.ts";
import { useOwnOnly, withOwnOnly } from "../cloud.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { keys, type OfferedWorkflow } from "../queries.ts";
import { createSubmission } from "./submission.ts";

/** A request as JSON with placeholder prompts: prompts do not affect the estimate, and request addresses are logged. */
export function textWithoutPrompts(request: object): string {
  // Some workflows require a prompt, so a non-empty prompt stays non-empty.
  const isPrompt = (name: string, value: unknown) =>
    (name === "prompt" || name === "negativePrompt") && value !== "";
  return JSON.stringify(request, (name, value: unknown) => (isPrompt(name, value) ? "…" : value));
}

/** Names the choice in a request: a workflow, or a model of a provider. */
export function choiceOf({ name, cloud }: Pick<OfferedWorkflow, "name" | "cloud">) {
  return cloud === null ? { workflow: name } : { model: cloud.model };
}

/** The name of a job's choice among the workflows and models; null for engines without any. */
export function choiceNameOf({ workflow, model }: Pick<JobView, "workflow" | "model">): string | null {
  return workflow ?? (model === null ? null : `cloud/${model}`);
}

const choices = /"(?:engine|kind|model|ownOnly|workflow)":(?:"[^"]*"|true)/g;

/** Whether both requests name the same workflow, model or engine, so that the answer to one tells of place and price of the other. */
export function isSameChoice(one: string, other: string): boolean {
  return (one.match(choices) ?? []).join() === (other.match(choices) ?? []).join();
}

const quietMs = 400;
const refetchMs = 10_000;

/**
 * An estimate of what is asked for, without its prompts; undefined until it is known. Null fetches nothing. While a setting
 * moves the last answer stays; that for another workflow or model does not: a click would agree to its price.
 */
export function useEstimateOf<Input extends object, Answer>(
  input: Input | null,
  estimate: (asked: Input) => Promise<Answer>,
): Answer | undefined {
  // As text, so that equal requests are the same value.
  const now = input === null ? null : textWithoutPrompts(input);
  const text = useSettled(now, quietMs);
  // Safe cast: the text is the JSON of an input.
  const asked = text === null ? null : (JSON.parse(text) as Input);
  const { data } = useQuery({
    queryKey: keys.estimate(asked),
    queryFn: () => (asked === null ? null : estimate(asked)),
    enabled: asked !== null,
    staleTime: refetchMs,
    refetchInterval: refetchMs,
    placeholderData: (before, of) =>
      isSameChoice(JSON.stringify(of?.queryKey.at(-1) ?? null), text ?? "") ? before : undefined,
    retry: false,
  });
  const isShown = asked !== null && isSameChoice(now ?? "", text ?? "");
  return isShown ? (data ?? undefined) : undefined;
}

/** The estimate for a request: where it would run, and when. Undefined until it is known; null fetches nothing. */
export function useEstimate(request: SubmitInput | null): Estimate | undefined {
  const isOwnOnly = useOwnOnly();
  const placed = request === null || !isOwnOnly ? request : { ...request, ownOnly: true };
  return useEstimateOf(placed, (asked) => api.jobs.estimate.query(asked));
}

export type Estimate = Awaited<ReturnType<typeof api.jobs.estimate.query>>;

/** What a click agrees to when this was shown; null where nothing was, or no price that one could agree to. */
export function agreedTo(shown: Estimate | undefined): Agreed | null {
  return shown?.isPossible === true ? shown.agreed : null;
}

/** What a click agrees to when this choice was shown with its price. */
export function agreedToChoice(choice: Pick<OfferedWorkflow, "cloud"> | null | undefined): Agreed | null {
  const priceUsd = choice?.cloud?.priceUsd ?? null;
  return priceUsd === null ? null : { maxPriceUsd: priceUsd };
}

/** One keeper of the jobs that a part of a page starts. */
export const createJobSubmission = () =>
  createSubmission("job", (input: SubmitInput, idempotencyKey) =>
    api.jobs.submit.mutate({ ...input, idempotencyKey }),
  );

/** Where the requests would go now. What costs something was not shown yet, so that the user is asked. */
async function findAgreement(requests: readonly SubmitInput[]): Promise<Agreed> {
  const [request] = requests;
  const answer = request && (await api.jobs.estimate.query(request));
  if (answer?.isPossible !== true) return freeOnly;
  if (answer.cloud === null || answer.priceUsd === 0) return answer.agreed ?? freeOnly;
  return askPrice(answer.cloud, requests.length);
}

/**
 * Starts a job for each request, on own machines alone where the user chose so, for what was `shown` and nothing dearer.
 * After a failure the same requests start only those that did not start. Throws `NotWanted`.
 */
export async function submitAgreed(
  submission: ReturnType<typeof createJobSubmission>,
  requests: readonly SubmitInput[],
  shown: Agreed | null,
) {
  const own = requests.map(withOwnOnly);
  return withAgreement(
    shown ?? (await findAgreement(own)),
    (agreed) => submission.send(own, (request) => ({ ...request, agreed })),
    (error) => askAboutJob(error, submission.countUnanswered(own) ?? own.length),
  );
}

/** Starts a job. The same input sent again after a lost answer keeps its idempotency key, so it starts no second job. */
export function useSubmit(onSubmitted?: (jobId: string) => void) {
  const showFailure = useFailureToast();
  const [submission] = useState(createJobSubmission);
  return useMutation({
    mutationFn: async ({ request, shown = null }: Wanted) => {
      const [job] = await submitAgreed(submission, [request], shown);
      return job;
    },
    onSuccess: (job) => job && onSubmitted?.(job.id),
    onError: showFailure,
  });
}

interface Wanted {
  readonly request: SubmitInput;
  /** What the page showed of place and price; without it the user is asked where it costs something. */
  readonly shown?: Agreed | null;
}

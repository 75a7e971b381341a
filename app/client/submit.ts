"use client";
import { useMutation, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import { useSettled } from "../ui/hooks.ts";
import { api, newId } from "./api.ts";
import { useOwnOnly, withOwnOnly } from "./cloud.ts";
import { failureOf, useFailureToast } from "./failures.ts";
import { keys, type OfferedWorkflow } from "./queries.ts";

interface Prepared {
  /** The request as JSON. */
  readonly input: string;
  readonly key: string;
}

/** Keeps one idempotency key: the same input gets the same key until `settle`. */
export function createRequestKey() {
  let prepared: Prepared | null = null;
  return {
    keyFor(input: object): string {
      const text = JSON.stringify(input);
      if (prepared?.input !== text) prepared = { input: text, key: newId() };
      return prepared.key;
    },
    /** The job was accepted: the same input gets a new key from now on. */
    settle(key: string): void {
      if (prepared?.key === key) prepared = null;
    },
  };
}

/** A request as JSON with placeholder prompts: prompts do not affect the estimate, and request addresses are logged. */
export function textWithoutPrompts(request: SubmitInput): string {
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

const quietMs = 400;
const refetchMs = 10_000;

/** The estimate for a request: where it would run, and when. Undefined until it is known; null fetches nothing. */
export function useEstimate(request: SubmitInput | null) {
  // As text, so that equal requests are the same value.
  const isOwnOnly = useOwnOnly();
  const placed = request === null || !isOwnOnly ? request : { ...request, ownOnly: true };
  const text = useSettled(placed === null ? null : textWithoutPrompts(placed), quietMs);
  // Safe cast: the text is the JSON of a request.
  const asked = text === null ? null : (JSON.parse(text) as SubmitInput);
  const { data } = useQuery({
    queryKey: keys.estimate(asked),
    queryFn: () => (asked === null ? null : api.jobs.estimate.query(asked)),
    enabled: asked !== null,
    staleTime: refetchMs,
    refetchInterval: refetchMs,
    placeholderData: (before) => before,
    retry: false,
  });
  return asked === null ? undefined : (data ?? undefined);
}

const staleMs = 60_000;

/** The range of the run time of each request in ms; null without past runs. */
export function useRunTimes(requests: readonly (SubmitInput | null)[]) {
  return useQueries({
    queries: requests.map((request) => ({
      queryKey: keys.estimate(request),
      queryFn: () => (request === null ? null : api.jobs.estimate.query(request)),
      enabled: request !== null,
      staleTime: staleMs,
      retry: false,
    })),
    combine: (answers) =>
      answers.map(({ data }) => (data?.isPossible === true && data.runs > 0 ? data.runMs : null)),
  });
}

/** Starts a job. The same input sent again after a lost answer keeps its idempotency key, so it starts no second job. */
export function useSubmit(onSubmitted?: (jobId: string) => void) {
  const showFailure = useFailureToast();
  const [requestKey] = useState(createRequestKey);
  return useMutation({
    mutationFn: async (input: SubmitInput) => {
      const request = withOwnOnly(input);
      const idempotencyKey = requestKey.keyFor(request);
      const job = await api.jobs.submit.mutate({ ...request, idempotencyKey });
      requestKey.settle(idempotencyKey);
      return job;
    },
    onSuccess: (job) => onSubmitted?.(job.id),
    onError: (error, input) => {
      // The job of this key was removed: the server would refuse the key for ever.
      if (failureOf(error).code === "conflict") requestKey.settle(requestKey.keyFor(withOwnOnly(input)));
      showFailure(error);
    },
  });
}

interface Batch {
  /** The requests as JSON. */
  readonly text: string;
  /** Idempotency key of each request. */
  readonly keys: string[];
  /** Indexes of the requests whose job was accepted. */
  readonly started: Set<number>;
}

/** Keeps one idempotency key per request of a batch, so that a repeated batch submits only what did not start. */
export function createBatchTracker() {
  let batch: Batch | null = null;
  const find = (requests: readonly object[]) => (batch?.text === JSON.stringify(requests) ? batch : null);
  return {
    /** The batch of these requests; equal requests get the same batch until `settle`. */
    prepare(requests: readonly object[]): Batch {
      batch = find(requests) ?? {
        text: JSON.stringify(requests),
        keys: requests.map(newId),
        started: new Set(),
      };
      return batch;
    },
    /** The number of requests that did not start; null when none of the batch started. */
    countUnstarted(requests: readonly object[]): number | null {
      const started = find(requests)?.started.size ?? 0;
      return started === 0 ? null : requests.length - started;
    },
    /** Gives one request a new key, so that it starts a new job. */
    renewKey(requests: readonly object[], index: number): void {
      const own = find(requests);
      if (own !== null) own.keys[index] = newId();
    },
    /** The whole batch started: equal requests get new keys from now on. */
    settle(): void {
      batch = null;
    },
  };
}

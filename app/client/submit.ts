"use client";
import { useMutation, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { SubmitInput } from "@atelier/server/jobs";
import { useSettled } from "../ui/hooks.ts";
import { api, newId } from "./api.ts";
import { failureOf, useFailureToast } from "./failures.ts";
import { keys } from "./queries.ts";

interface Prepared {
  readonly input: string;
  readonly key: string;
}

/** One idempotency key per prepared request: it stays the same until the request is settled. */
export function createRequestKey() {
  let prepared: Prepared | null = null;
  return {
    keyFor(input: object): string {
      const text = JSON.stringify(input);
      if (prepared?.input !== text) prepared = { input: text, key: newId() };
      return prepared.key;
    },
    /** The work was taken on; the same input from now on asks for new work. */
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

const quietMs = 400;
const askAgainMs = 10_000;

/** What would become of a request now; undefined until it is known. null asks nothing. */
export function useEstimate(request: SubmitInput | null) {
  // Text, so that an equal request is the same value.
  const text = useSettled(request === null ? null : textWithoutPrompts(request), quietMs);
  // It was made of a request two lines above.
  const asked = text === null ? null : (JSON.parse(text) as SubmitInput);
  const { data } = useQuery({
    queryKey: keys.estimate(asked),
    queryFn: () => (asked === null ? null : api.jobs.estimate.query(asked)),
    enabled: asked !== null,
    staleTime: askAgainMs,
    refetchInterval: askAgainMs,
    placeholderData: (before) => before,
    retry: false,
  });
  return asked === null ? undefined : (data ?? undefined);
}

const staleMs = 60_000;

/** How long each of several requests would run, ms; null where nothing is known of it. */
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

interface Batch {
  readonly text: string;
  readonly keys: string[];
  readonly started: Set<number>;
}

/** One idempotency key per picture of a prepared batch: what was not answered is asked again, what was is not. */
export function createBatchKeys() {
  let batch: Batch | null = null;
  const find = (requests: readonly object[]) => (batch?.text === JSON.stringify(requests) ? batch : null);
  return {
    /** The batch of these requests; the same as before until it is settled. */
    open(requests: readonly object[]): Batch {
      batch = find(requests) ?? {
        text: JSON.stringify(requests),
        keys: requests.map(newId),
        started: new Set(),
      };
      return batch;
    },
    /** How many of these did not start while others did; null when none of them did. */
    left(requests: readonly object[]): number | null {
      const started = find(requests)?.started.size ?? 0;
      return started === 0 ? null : requests.length - started;
    },
    /** This one picture from now on asks for new work. */
    renew(requests: readonly object[], index: number): void {
      const own = find(requests);
      if (own !== null) own.keys[index] = newId();
    },
    /** The same requests from now on ask for new work. */
    settle(): void {
      batch = null;
    },
  };
}

"use client";
import type { SubmitInput } from "@atelier/server/jobs";
import { useQueries } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import { keys } from "./keys.ts";

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

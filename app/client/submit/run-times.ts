"use client";
import { useQueries } from "@tanstack/react-query";
import type { SubmitInput } from "@atelier/server/jobs";
import { api } from "../api.ts";
import { keys } from "../queries.ts";
import { textWithoutPrompts } from "./job.ts";

const staleMs = 60_000;

/** The range of the run time of each request in ms; null without past runs. */
export function useRunTimes(requests: readonly (SubmitInput | null)[]) {
  return useQueries({
    queries: requests.map((request) => {
      // Safe cast: the text is the JSON of a request.
      const asked = request && (JSON.parse(textWithoutPrompts(request)) as SubmitInput);
      return {
        queryKey: keys.estimate(asked),
        queryFn: () => asked && api.jobs.estimate.query(asked),
        enabled: asked !== null,
        staleTime: staleMs,
        retry: false,
      };
    }),
    combine: (answers) =>
      answers.map(({ data }) => (data?.isPossible === true && data.runs > 0 ? data.runMs : null)),
  });
}

"use client";
import type { SubmitInput } from "@atelier/server/jobs";
import { useQuery } from "@tanstack/react-query";
import { useSettled } from "../ui/use-settled.ts";
import { api } from "../client/api.ts";
import { keys } from "./keys.ts";
import { textWithoutWords } from "./text-without-words.ts";

const quietMs = 400;
const askAgainMs = 10_000;

/** What would become of a request now; undefined until it is known. null asks nothing. */
export function useEstimate(request: SubmitInput | null) {
  // Text, so that an equal request is the same value.
  const text = useSettled(request === null ? null : textWithoutWords(request), quietMs);
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

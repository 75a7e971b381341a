import type { Env } from "./env.ts";

// The web as functions: a platform starts processes when requests come, freezes them in between, and ends a request after
// `FUNCTION_SECONDS`. docs/functions.md

/**
 * Takes work that goes on after an answer and never throws. A function is frozen once its requests are answered, so its
 * platform is told to wait for this work; elsewhere it simply runs.
 */
export type Later = (work: Promise<unknown>) => void;

type FunctionEnv = Pick<Env, "FUNCTION_SECONDS">;

/** Whether this process is a function. */
export function isFunction({ FUNCTION_SECONDS }: FunctionEnv): boolean {
  return FUNCTION_SECONDS !== undefined;
}

const longestStreamMs = 25 * 60_000;
/** A fifth of the time of a function, at most this, is left for the end of a stream. */
const marginMs = 20_000;

/** How long a live stream lasts: it ends before the platform would cut it, and the client opens the next one. */
export function streamMs({ FUNCTION_SECONDS }: FunctionEnv): number {
  if (FUNCTION_SECONDS === undefined) return longestStreamMs;
  const limitMs = FUNCTION_SECONDS * 1_000;
  return Math.min(longestStreamMs, limitMs - Math.min(marginMs, limitMs / 5));
}

/** Vercel sets VERCEL, and ends a request at the `maxDuration` of vercel.json. */
const vercelSeconds = "300";

export function withPlatform(
  source: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  if (!source["VERCEL"] || source["FUNCTION_SECONDS"]) return source;
  return { ...source, FUNCTION_SECONDS: vercelSeconds };
}

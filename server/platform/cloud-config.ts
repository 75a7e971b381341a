import { z } from "zod";

const seconds = z.number().positive();
const policy = z.enum(["own_first", "fastest", "cheapest", "own_only"]);
const usd = z.number().min(0).nullable();

/** Limits of one key of a provider; unset: the published ones of server/providers/limits.ts. */
const providerSchema = z.strictObject({
  /** Runs at once. */
  maxConcurrent: z.number().int().min(1).optional(),
  /** Requests per minute. */
  rpm: z.number().int().min(1).optional(),
});

/** Providers of images: when they are used, how they are called, and what they may cost. */
export const cloudSchema = z.strictObject({
  /** When a job goes to a provider; a user and a job may be stricter. */
  policy: policy.default("own_first"),
  /** For single kinds instead of the above. */
  policies: z.record(z.string(), policy).default({}),
  /** With `own_first`, a longer wait for an own server than this sends the job to a provider. */
  overflowAfterS: seconds.default(60),
  /** Submits at once of one worker; a submit takes seconds, a run at the provider none of these. */
  submitSlots: z.number().int().min(1).max(64).default(4),
  providers: z.record(z.string(), providerSchema).default({}),
  /** Models of one's own, shaped like those of server/providers/built-in-models.ts; the same id replaces a built-in one. */
  models: z.array(z.unknown()).default([]),
  /** Caps in US dollars per day and calendar month (UTC), of one user and of the whole studio; null: none. */
  caps: z
    .strictObject({
      userDailyUsd: usd.default(5),
      userMonthlyUsd: usd.default(50),
      studioDailyUsd: usd.default(20),
      studioMonthlyUsd: usd.default(200),
    })
    .prefault({}),
  /** What a picture without a known price counts in the caps. */
  assumedPriceUsd: z.number().min(0).default(0.1),
  /** Pauses of a provider after the first, second, ... failure in a row; a streak ends after `streakS`. */
  cooldownS: z.array(seconds).min(1).default([10, 30, 60, 120]),
  streakS: seconds.default(600),
  /** A run that the provider accepted and that fails later: the job fails, or goes to the next provider. */
  onLateFailure: z.enum(["fail", "next"]).default("fail"),
  /**
   * A request whose answer was lost and that neither the provider's list nor a webhook explains: the job fails, since it
   * may have been paid, or goes to the next provider.
   */
  onLostReply: z.enum(["fail", "next"]).default("fail"),
  /** How long a lost answer is looked for. */
  reconcileS: seconds.default(120),
  /** A run that takes longer has failed. */
  runLimitS: seconds.default(900),
  /** First and longest pause between two questions about a run. */
  pollS: seconds.default(2),
  maxPollS: seconds.default(30),
});

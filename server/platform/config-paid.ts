import { z } from "zod";
import { jobKinds, providerNames } from "./names.ts";

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
  policies: z.partialRecord(z.enum(jobKinds), policy).default({}),
  /** With `own_first`, a longer wait for an own server than this sends the job to a provider. */
  overflowAfterS: seconds.default(60),
  /** Submits at once of one worker; a submit takes seconds, a run at the provider none of these. */
  submitSlots: z.number().int().min(1).max(64).default(4),
  providers: z.partialRecord(z.enum(providerNames), providerSchema).default({}),
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
  /** What a picture costs in US dollars, by model, at all of its providers or by provider; it wins over the model list. */
  prices: z
    .record(
      z.string(),
      z.union([z.number().min(0), z.partialRecord(z.enum(providerNames), z.number().min(0))]),
    )
    .default({}),
  /** What a picture counts in the caps that was bought without a known price. */
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

/** One stage of the assistant that calls a language model. */
const stageSchema = (usual: { maxOutputTokens: number; temperature: number | null }) =>
  z
    .strictObject({
      /** `anthropic/<model>`, `google/<model>`, `openai/<model>` or `local/<model>`; null: the first that has a key. */
      model: z.string().nullable().default(null),
      /** Not sent to models that refuse it; null: that of the model. */
      temperature: z.number().min(0).max(2).nullable().default(usual.temperature),
      maxOutputTokens: z.number().int().min(1).default(usual.maxOutputTokens),
      /**
       * How long a call waits for the first sign of an answer, and then for each next one; not how long an answer may take.
       * Null: short for vendors, longer for `local/` models (server/assistant/models.ts).
       */
      timeoutS: seconds.nullable().default(null),
      silenceS: seconds.nullable().default(null),
    })
    .prefault({});

/** Search in memory by meaning. */
const embeddingSchema = z
  .strictObject({
    /** `openai/<model>`, `google/<model>` or `local/<model>`; null: memory is searched by words alone. */
    model: z.string().nullable().default(null),
    /** Asked of models that can shorten their vectors; null: as the model has them. */
    dimensions: z.number().int().min(8).max(4_096).nullable().default(null),
    /** What the model wants before a question and before what is searched, such as `search_query: `. */
    queryPrefix: z.string().default(""),
    documentPrefix: z.string().default(""),
    /** Longer texts are cut. */
    maxInputTokens: z.number().int().min(16).default(400),
    /** Texts of one call. */
    batchSize: z.number().int().min(1).max(100).default(64),
    /** Limit of one call for texts, and of that for a question, which waits for it. */
    timeoutS: seconds.default(60),
    queryTimeoutS: seconds.default(2),
    /** After a failure questions are searched by words alone for this long. */
    restS: seconds.default(30),
    /** Memory of one process for vectors of users that searched lately; a user with more is searched by words alone. */
    cacheMb: z.number().min(1).default(256),
  })
  .prefault({});

const usdPerMillion = z.number().min(0);

/** The assistant: its models, limits and times. */
export const assistantSchema = z.strictObject({
  analyzer: stageSchema({ maxOutputTokens: 600, temperature: null }),
  responder: stageSchema({ maxOutputTokens: 2_000, temperature: 0.7 }),
  archivist: stageSchema({ maxOutputTokens: 800, temperature: null }),
  embedding: embeddingSchema,
  /** Beginnings of models that refuse sampling parameters. */
  withoutSampling: z.array(z.string()).default(["anthropic/", "openai/gpt-5", "openai/gpt-6", "openai/o"]),
  /**
   * Beginnings of models that take pictures: they are sent those that a person gives with a question. `LLM_VISION_MODEL` is
   * one, too. Without any, no picture is sent to any model that answers.
   */
  takesPictures: z
    .array(z.string())
    .default([
      "anthropic/claude-",
      "google/gemini-",
      "openai/gpt-4o",
      "openai/gpt-4.1",
      "openai/gpt-5",
      "openai/gpt-6",
      "openai/o3",
      "openai/o4",
    ]),
  /** US dollars per million tokens, by the beginning of a model; `local/` costs nothing on the own network. */
  prices: z
    .record(z.string(), z.strictObject({ inputUsd: usdPerMillion, outputUsd: usdPerMillion }))
    .default({}),
  /** What a million tokens of a model without a known price counts in the caps. */
  assumedUsdPerMillion: usdPerMillion.default(10),
  /** Questions of one worker that are answered at once. */
  slots: z.number().int().min(1).max(64).default(4),
  /** Open questions of one user. */
  openRuns: z.number().int().min(1).default(3),
  /** Tokens of everything that the responder is given, and of the memory in it. */
  contextTokens: z.number().int().min(1_000).default(8_000),
  memoryTokens: z.number().int().min(0).default(1_500),
  /** Tries of a call that took too long, was limited or could not be made. */
  tries: z.number().int().min(1).default(3),
  /** Wait after a rate limit when the answer names none. */
  rateLimitWaitS: seconds.default(60),
  /** First pause after a call that took too long; doubled with each further one. */
  retryDelayS: seconds.default(1),
  /** Steps of one answer: calls of the model with the results of its tools. */
  maxSteps: z.number().int().min(1).max(20).default(6),
  /** The archivist runs this often. */
  archiveEveryS: seconds.default(6 * 3_600),
  /** A silence of this length ends a conversation for the memory. */
  conversationGapS: seconds.default(3_600),
  /** How often workers look for runs that they were not told of. */
  sweepMs: z.number().int().positive().default(5_000),
});

import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { assistantSchema, cloudSchema } from "./config-paid.ts";
import { ConfigError, readConfigProblems } from "./config-problems.ts";
import { signInSchema } from "./config-sign-in.ts";
import { jobKinds } from "./names.ts";
import { pictureLimits } from "./picture-limits.ts";

const ms = z.number().int().positive();

const timingSchema = z.strictObject({
  /** A node raises its counter this often. */
  beatMs: ms.default(1_000),
  /** A sweeper that sees a counter unchanged for this long of its own clock calls the node lost. */
  lostAfterMs: ms.default(7_000),
  /** How often the watch reads counters. */
  watchMs: ms.default(1_000),
  /** A gap between two reads above this restarts the watch. */
  watchGapMs: ms.default(2_000),
  /** The beat stops when the main thread has not ticked for this long. */
  mainThreadStallMs: ms.default(60_000),
  /** How often each worker sweeps while there is activity. */
  sweepMs: ms.default(5_000),
  /** How often it sweeps after `sweepIdleAfterMs` without activity. */
  sweepIdleMs: ms.default(60_000),
  sweepIdleAfterMs: ms.default(30_000),
  /** A submit reads where jobs can go and how long they wait there at most this often in one process; 0 reads each time. */
  placesMs: z.number().int().min(0).default(500),
  /** A queued row whose bell is older than this is rung again. */
  reringMs: ms.default(5_000),
  /**
   * A job that entered the window up to this much later is claimed first by a node that has its model loaded, where the first
   * one needs a load. Keep it below the time of a load; 0: by age alone.
   */
  loadedFirstMs: z.number().int().min(0).default(10_000),
  /** A node kept free for a job that lost a worker once runs it beside others after this time; after two losses never. */
  aloneWaitMs: ms.default(30_000),
  /** How often a worker re-reads the cancel flag of its jobs. */
  cancelPollMs: ms.default(1_000),
  /** Grace time at SIGTERM; runs are handed back five seconds before its end. */
  stopGraceMs: ms.default(30_000),
  /** Progress is written to the row at most this often. */
  progressPersistMs: ms.default(5_000),
  /** An engine of this computer that takes longer than this is stopped. */
  runLimitMs: ms.default(600_000),
  /**
   * A run that a server has begun is stopped when it makes no progress for a base (models have to be loaded) and a part per
   * megapixel and step, and for three times the longest of the past runs like it.
   */
  serverRunBaseMs: ms.default(600_000),
  serverRunPerMegapixelStepMs: ms.default(6_000),
  /** Times that for a server without a graphics card. */
  cpuRunFactor: z.number().min(1).default(30),
  /** A run that waits longer than this for its server to begin goes elsewhere, at no cost to the job. */
  serverWaitLimitMs: ms.default(600_000),
  /** An IOPaint server is left alone this long after a run whose answer is not waited for: one that was cancelled or lost. */
  lostRunMs: ms.default(120_000),
  /** How often each server is probed; with `probeTimeoutMs` a dead server is found within ten seconds. */
  probeMs: ms.default(5_000),
  /** A probe that takes longer than this has failed. */
  probeTimeoutMs: ms.default(4_000),
  /** How often the lists of servers are read again. */
  discoverMs: ms.default(15_000),
  /** How long a server's answer about its nodes and models is trusted. */
  objectInfoMs: ms.default(300_000),
  /** Wait before the second attempt of a job; doubled with each further one, up to `maxRetryDelayMs`. */
  retryDelayMs: ms.default(1_000),
  maxRetryDelayMs: ms.default(60_000),
  /** The lock of a delivery that is older than this was left by a process that died. */
  deliveryLockMs: ms.default(300_000),
  /** A send that takes longer than this is given up; it must be well below `deliveryLockMs`. */
  deliverySendMs: ms.default(120_000),
});

const limitsSchema = z.strictObject({
  /** Charged attempts after which a job fails; a request may allow itself fewer by `maxRetries`. */
  maxCharged: z.number().int().min(1).default(3),
  /**
   * Attempts of any kind after which the next failure ends a job: each claim counts, also one that was handed back or
   * found no server free. With the waits between failed attempts this takes more than 15 minutes.
   */
  maxAttempts: z.number().int().min(1).default(20),
  /** Open jobs of one user; guests have fewer. */
  openJobs: z.number().int().min(1).default(pictureLimits.batchPictures),
  openJobsGuest: z.number().int().min(1).default(20),
  /** Rows that may wait in one queue. */
  maxWaiting: z.number().int().min(1).default(1_000),
  /** The part of them that guests may fill all together, so that guests never block users with an account. */
  guestShareOfLine: z.number().min(0).max(1).default(0.5),
  /** Pictures that a guest may keep. */
  guestImages: z.number().int().min(1).default(200),
  /** Bytes that the pictures of one user may take up, results included; guests have fewer. */
  bytesPerUser: z
    .number()
    .int()
    .min(1)
    .default(20 * 1024 ** 3),
  bytesPerGuest: z
    .number()
    .int()
    .min(1)
    .default(1024 ** 3),
  /** Bytes that the pictures of all guests together may take up. */
  bytesOfGuests: z
    .number()
    .int()
    .min(1)
    .default(20 * 1024 ** 3),
  /** Guests, and accounts without an invitation, that one address may make; of IPv6 a network of 64 bits, and four times that one of 48. */
  guestsPerHour: z.number().int().min(1).default(300),
  guestsPerDay: z.number().int().min(1).default(1_000),
  signUpsPerHour: z.number().int().min(1).default(200),
  signUpsPerDay: z.number().int().min(1).default(500),
  /** Free bytes of the data folder's disk below which uploads are refused and a worker takes no job. */
  minFreeBytes: z
    .number()
    .int()
    .min(0)
    .default(512 * 1024 ** 2),
  /** Runs out of memory in a row after which a server takes nothing until a probe finds it well. */
  serverMemoryFailures: z.number().int().min(1).default(2),
  /** Requests per minute of one API key. */
  apiKeyPerMinute: z.number().int().min(1).default(600),
  /** Writes (procedures and HTTP requests that change something) per minute of one user by session. */
  sessionWritesPerMinute: z.number().int().min(1).default(600),
  /** Reads per minute of one user by session: procedures, pictures and streams. A gallery asks for hundreds of pictures. */
  sessionReadsPerMinute: z.number().int().min(1).default(6_000),
});

const retentionSchema = z.strictObject({
  /** Ephemeral jobs are deleted this long after a complete answer without an acknowledgement. */
  ephemeralAfterAnswerMs: ms.default(600_000),
  /** Ephemeral jobs go at the latest after this time. */
  ephemeralMaxMs: ms.default(7 * 86_400_000),
  /** Deleted pictures of accounts wait in the trash for this long, and use space until then. */
  trashMs: ms.default(30 * 86_400_000),
  /** Those of guests, masks and all else that is removed can be restored for this long: a guest costs nothing. */
  undoDeleteMs: ms.default(30 * 60_000),
  /** Objects without a row are removed when older than this. */
  orphanObjectMs: ms.default(3_600_000),
  /** One worker of the installation looks for them this often. */
  orphanSweepMs: ms.default(86_400_000),
  /** Guests without a visit go after this time, with their pictures. */
  guestMs: ms.default(30 * 86_400_000),
  /** Requests to providers, which the caps and the spend pages are counted from. */
  providerAttemptsMs: ms.default(400 * 86_400_000),
  /** Stories of ended jobs, idempotency keys and rows of ended workers go after these times. */
  eventsMs: ms.default(30 * 86_400_000),
  keysMs: ms.default(30 * 86_400_000),
  nodesMs: ms.default(30 * 86_400_000),
  /** Ended runs of the assistant, and its log once the memory holds it. */
  assistantRunsMs: ms.default(90 * 86_400_000),
  assistantLogMs: ms.default(400 * 86_400_000),
  /** Entries of the audit log; the database keeps each for 30 days at least, see docs/access.md. */
  auditMs: ms.min(30 * 86_400_000).default(400 * 86_400_000),
});

const queueSchema = z.strictObject({
  /** What a node needs to subscribe: logical cores and memory in GiB. The lightest class takes every node. */
  minCores: z.number().default(0),
  minMemoryGib: z.number().default(0),
  /** Above 0 it is a queue of graphics cards: the memory in GiB that one server of the node must have. */
  minVramGib: z.number().default(0),
  /** Narrows the queue to jobs of these kinds. */
  kinds: z.array(z.enum(jobKinds)).optional(),
  /** Models that a server must have (file names) to serve the queue. */
  models: z.array(z.string()).optional(),
  /** Something outside starts its workers while jobs wait: they wait for it, also when no worker was seen for days. See docs/autoscaling.md. */
  onDemand: z
    .strictObject({
      /** From the first waiting job to a worker that takes it, in seconds as usual. */
      startS: z.number().min(1).max(3_600),
      /** Workflows that its workers can run. What one of them offered in the last 30 days is known without. */
      workflows: z.array(z.string()).default([]),
    })
    .optional(),
});

const serverSchema = z.strictObject({
  /** Memory of its card in GiB, in place of what the server reports. */
  vramGib: z.number().positive().max(4_096).optional(),
});

const provenanceSchema = z.strictObject({
  /**
   * Kinds of jobs whose results get the watermark, which changes each pixel by a few steps. The other kinds keep what was not to be
   * changed exactly as it was. See docs/provenance.md.
   */
  watermark: z.array(z.enum(jobKinds)).default(["text_to_image", "edit"]),
});

/** From which score on, above 0 to 1, by kind of job. */
const thresholdsSchema = z.partialRecord(z.enum(jobKinds), z.number().gt(0).max(1)).default({});

/** The gate, by the model of `atelier models add content-gate`; off for a kind without a threshold. See docs/provenance.md. */
const safetySchema = z.strictObject({
  /** A job that takes a picture of such a score is refused before it runs. */
  refuseInputs: thresholdsSchema,
  /** A result of such a score is not kept. */
  refuseResults: thresholdsSchema,
});

const configSchema = z.strictObject({
  timing: timingSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  queues: z.record(z.string(), queueSchema).prefault({
    "gpu-high": { minVramGib: 8 },
    "gpu-medium": { minVramGib: 4 },
    "cpu-intensive": { minCores: 8, minMemoryGib: 16 },
    "cpu-light": {},
  }),
  /** What is known better of single servers, by address as in COMFYUI_URLS. */
  servers: z.record(z.string(), serverSchema).prefault({}),
  cloud: cloudSchema.prefault({}),
  assistant: assistantSchema.prefault({}),
  provenance: provenanceSchema.prefault({}),
  safety: safetySchema.prefault({}),
  /** Providers of sign-in (OpenID Connect), and whether there are passwords beside. */
  signIn: signInSchema.prefault({}),
});

/** What a queue asks of a node. */
export type QueueNeeds = z.infer<typeof queueSchema>;
export type Config = z.infer<typeof configSchema>;
export type ConfigInput = z.input<typeof configSchema>;

/**
 * Returns its value. Files of operators call it, which once had no other way to have their types checked.
 * @public
 */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

/** The configuration with every default. Throws `ConfigError` with every fault. */
export function parseConfig(input: unknown): Config {
  const result = configSchema.safeParse(input);
  if (result.success) return result.data;
  throw new ConfigError(readConfigProblems(result.error, { schema: configSchema, input }));
}

/**
 * Queues that are started on demand in vain: with a key of a provider, a job that finds no worker is bought before one could have started.
 * A sentence for each, for the operator.
 */
export function findVainStarts({ queues, cloud }: Pick<Config, "queues" | "cloud">): string[] {
  const policies = [cloud.policy, ...Object.values(cloud.policies)];
  if (!policies.some((policy) => policy === "own_first" || policy === "fastest")) return [];
  const { overflowAfterS } = cloud;
  return Object.entries(queues).flatMap(([queue, { onDemand }]) =>
    onDemand && overflowAfterS <= onDemand.startS
      ? [
          `the queue "${queue}" starts in ${onDemand.startS} s, and a job goes to a provider when it would wait for more than ${overflowAfterS} s: none starts a worker. Set cloud.overflowAfterS above it, or cloud.policy to "cheapest" or "own_only"`,
        ]
      : [],
  );
}

/** Where the file about behaviour is, unless the environment names another one. */
export const usualConfigFile = "atelier.config.ts";

/**
 * The configuration of the file; without a file of the usual name that of `builtIn`, the same file as it was when the
 * pages were built: a function has only what was built.
 */
export async function loadConfigOr(file: string, builtIn: ConfigInput): Promise<Config> {
  const isBuiltIn = file === usualConfigFile && !existsSync(path.resolve(/* turbopackIgnore: true */ file));
  return isBuiltIn ? parseConfig(builtIn) : loadConfig(file);
}

/** Reads the file about behaviour (a module with a default export); throws `ConfigError` when it is not valid. */
export async function loadConfig(file: string): Promise<Config> {
  const url = pathToFileURL(path.resolve(file)).href;
  const loaded: { default?: unknown } = await import(
    /* webpackIgnore: true */ /* turbopackIgnore: true */ url
  );
  return parseConfig(loaded.default ?? {});
}

import { z } from "zod";
import type { BatchPlace, BatchView } from "../../batches/index.ts";
import { jobStatuses } from "../../db/index.ts";
import { engineNames, jobKinds } from "../../engines.ts";
import { agreedSchema, type JobView } from "../../jobs/index.ts";

export const submittedSchema = z.object({ id: z.uuid(), status: z.enum(jobStatuses) });

/** A job in the HTTP API. */
export const jobSchema = z.object({
  id: z.uuid(),
  kind: z.enum(jobKinds),
  status: z.enum(jobStatuses),
  engine: z.enum(engineNames),
  workflow: z.string().nullable(),
  params: z.record(z.string(), z.unknown()),
  template: z
    .object({
      prompt: z.string().nullable(),
      negativePrompt: z.string().nullable(),
      drawn: z.object({ prompt: z.string().nullable(), negativePrompt: z.string().nullable() }),
      seed: z.number().nullable(),
      styles: z.array(z.object({ name: z.string(), prompt: z.string(), negativePrompt: z.string() })),
    })
    .nullable()
    .describe(
      "What the prompts in `params` were made from: as written, as drawn before the styles, and the styles as they were. Null without `template` in the request",
    ),
  /** Queue in which the job waits, or waited for its last attempt. */
  queue: z.string(),
  /** Number of the last attempt; 0 before the first. */
  attempt: z.number().int(),
  /** Worker of the last attempt; null before the first. */
  node: z.string().nullable(),
  /** Host and port of the ComfyUI or IOPaint server of the last attempt; null for the local engine. */
  server: z.string().nullable(),
  executedBy: z
    .string()
    .nullable()
    .describe("Worker of the last attempt, with its server if it used one: `Worker-A @ 192.168.0.107:8188`"),
  progress: z.number().min(0).max(1),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  /** Set when the job runs on a slower queue or a simpler engine than requested. */
  downgrade: z.object({ from: z.string(), reason: z.string() }).optional(),
  outputs: z.array(z.object({ imageId: z.uuid(), url: z.string() })),
  retention: z.enum(["keep", "ephemeral"]),
  retryOf: z.uuid().nullable(),
  maxRetries: z
    .number()
    .int()
    .nullable()
    .describe("As in the request, at most as many as the studio allows; null when the request had none"),
  sessionId: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  requestId: z.string().nullable().describe("`X-Request-Id` of the request that submitted the job"),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  processingMs: z
    .number()
    .int()
    .nullable()
    .describe(
      "From the start of the last attempt to its end; null before, and if the job ended while it waited",
    ),
});

const range = z.tuple([z.number(), z.number()]);

/**
 * The answer to a request for an estimate; `isPossible` false comes with a reason alone. `isLive` false: the job would
 * wait for a worker or a server that is away, see `awaits` and `reason`; `waitMs` then has no
 * meaning, but with `awaits` of `start`: a worker is started for the job.
 */
export const estimateSchema = z.object({
  isPossible: z.boolean(),
  reason: z.string().nullable(),
  engine: z.enum(engineNames).optional(),
  workflow: z.string().nullable().optional(),
  queue: z.string().optional(),
  cloud: z
    .object({
      model: z.string(),
      title: z.string(),
      provider: z.string().describe("The provider that is tried first"),
      priceUsd: z.number().nullable(),
      maxPriceUsd: z
        .number()
        .nullable()
        .describe(
          "The highest price of the providers that may be tried after it; null where its own is unknown",
        ),
    })
    .nullable()
    .optional()
    .describe("Where a provider would get the pictures; null: they stay on the studio's own machines"),
  priceUsd: z
    .number()
    .nullable()
    .optional()
    .describe("US dollars, 0 on own machines; null when no source states it"),
  agreed: agreedSchema
    .nullable()
    .optional()
    .describe(
      "Send it back as `agreed` with the job, to get this place and price and nothing dearer; null where you have to name a maximum of your own",
    ),
  note: z
    .string()
    .nullable()
    .optional()
    .describe("Why a provider, or why not one; null where nothing has to be said"),
  isLive: z.boolean().optional(),
  awaits: z.enum(["worker", "server", "start"]).nullable().optional(),
  position: z.number().int().optional(),
  waitMs: range.optional(),
  runMs: range.optional(),
  runs: z.number().int().optional(),
});

export const jobPageSchema = z.object({ items: z.array(jobSchema), nextCursor: z.string().nullable() });

/** The public form of a job, without the data on how its place was chosen. */
export function toHttpJob(job: JobView): z.infer<typeof jobSchema> {
  const { id, kind, status, engine, workflow, params, template, queue, attempt, progress, stage } = job;
  const { node, server, executedBy, createdAt, startedAt, endedAt, processingMs } = job;
  const { retention, retryOf, maxRetries, sessionId, metadata, requestId } = job;
  const downgrade = job.placement?.downgrade;
  return {
    id,
    kind,
    status,
    engine,
    workflow,
    params,
    template: template && { ...template, styles: [...template.styles] },
    queue,
    attempt,
    node,
    server,
    executedBy,
    progress,
    stage,
    ...(job.error ? { error: { code: job.error.code, message: job.error.message } } : {}),
    ...(downgrade ? { downgrade: { from: downgrade.from, reason: downgrade.reason } } : {}),
    outputs: job.outputs.map(({ imageId }) => ({
      imageId,
      url: `/api/v1/images/${imageId}/file?variant=original`,
    })),
    retention,
    retryOf,
    maxRetries,
    sessionId,
    metadata,
    requestId,
    createdAt,
    startedAt,
    endedAt,
    processingMs,
  };
}

const value = z.union([z.string(), z.number(), z.boolean()]);
const count = z.number().int().min(0);
const axis = z.object({ param: z.string(), values: z.array(value) });

/** A batch in the HTTP API. */
export const batchSchema = z.object({
  id: z.uuid(),
  title: z.string().nullable(),
  axes: z
    .array(axis.extend({ along: z.array(axis).optional() }))
    .nullable()
    .describe("Null for a batch that came as a list of jobs"),
  size: count,
  status: z.enum(["open", "ended"]).describe("`ended`: none of its jobs is open"),
  counts: z.object({
    waiting: count,
    running: count,
    completed: count,
    failed: count,
    cancelled: count,
    removed: count.describe("Ephemeral jobs, and those that were deleted"),
  }),
  progress: z.number().min(0).max(1),
  maxPriceUsd: z.number().nullable().describe("The most that it could cost at its submit, US dollars"),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});

const placeSchema = z.object({
  position: count,
  values: z.record(z.string(), value).describe("Of the axes at this place; empty for a list of jobs"),
  job: jobSchema.nullable().describe("What runs there now, or ran last; null where it was removed"),
  steps: z
    .object({
      count,
      begun: count,
      before: z.array(z.uuid()).describe("The jobs that stood there before, in their order"),
      stopped: z
        .object({ code: z.string(), message: z.string() })
        .nullable()
        .describe("Why the next step does not begin: `cancelled`, or the code of its refusal"),
    })
    .nullable()
    .describe("What follows the first job of the place; null for a place of one job"),
});

export const batchWithJobsSchema = batchSchema.extend({ jobs: z.array(placeSchema) });

export function toHttpBatch(batch: BatchView): z.infer<typeof batchSchema> {
  // Parsed, so that undeclared fields are not sent.
  return batchSchema.parse(batch);
}

export function toHttpPlace({ job, ...place }: BatchPlace): z.infer<typeof placeSchema> {
  return placeSchema.parse({ ...place, job: job === null ? null : toHttpJob(job) });
}

import { z } from "zod";
import { jobStatuses } from "../../../db/index.ts";
import { engineNames, jobKinds } from "../../../engines/index.ts";
import type { JobView } from "../../../jobs/index.ts";

export const submittedSchema = z.object({ id: z.uuid(), status: z.enum(jobStatuses) });

/** A job in the HTTP API. */
export const jobSchema = z.object({
  id: z.uuid(),
  kind: z.enum(jobKinds),
  status: z.enum(jobStatuses),
  engine: z.enum(engineNames),
  workflow: z.string().nullable(),
  params: z.record(z.string(), z.unknown()),
  /** Where it waits, or waited for its last try. */
  queue: z.string(),
  /** Number of the last try; 0 before the first. */
  attempt: z.number().int(),
  /** Worker of the last try; null before the first. */
  node: z.string().nullable(),
  /** Host and port of the ComfyUI or IOPaint server of the last try; null where the worker did it by itself. */
  server: z.string().nullable(),
  progress: z.number().min(0).max(1),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  /** Set when it was moved to a slower or simpler place than asked for. */
  downgrade: z.object({ from: z.string(), reason: z.string() }).optional(),
  outputs: z.array(z.object({ imageId: z.uuid(), url: z.string() })),
  retention: z.enum(["keep", "ephemeral"]),
  retryOf: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
});

const range = z.tuple([z.number(), z.number()]);

/** The answer to a request for an estimate; `isPossible` false comes with a reason alone. */
export const estimateSchema = z.object({
  isPossible: z.boolean(),
  reason: z.string().nullable(),
  engine: z.enum(engineNames).optional(),
  workflow: z.string().nullable().optional(),
  queue: z.string().optional(),
  isLive: z.boolean().optional(),
  position: z.number().int().optional(),
  waitMs: range.optional(),
  runMs: range.optional(),
  runs: z.number().int().optional(),
});

export const jobPageSchema = z.object({ items: z.array(jobSchema), nextCursor: z.string().nullable() });

/** The public form of a job: what callers need, without how the place for it was chosen. */
export function toHttpJob(job: JobView): z.infer<typeof jobSchema> {
  const { id, kind, status, engine, workflow, params, queue, attempt, node, server, progress, stage } = job;
  const { retention, retryOf, createdAt, startedAt, endedAt } = job;
  const downgrade = job.placement?.downgrade;
  return {
    id,
    kind,
    status,
    engine,
    workflow,
    params,
    queue,
    attempt,
    node,
    server,
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
    createdAt,
    startedAt,
    endedAt,
  };
}

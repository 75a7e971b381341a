import { z } from "zod";
import { jobStatuses } from "../../../db/index.ts";
import { jobKinds } from "../../../engines/index.ts";
import type { JobView } from "../../../jobs/index.ts";

export const submittedSchema = z.object({ id: z.uuid(), status: z.enum(jobStatuses) });

/** A job in the HTTP API. */
export const jobSchema = z.object({
  id: z.uuid(),
  kind: z.enum(jobKinds),
  status: z.enum(jobStatuses),
  progress: z.number().min(0).max(1),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  outputs: z.array(z.object({ imageId: z.uuid(), url: z.string() })),
  retention: z.enum(["keep", "ephemeral"]),
  retryOf: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});

export const jobPageSchema = z.object({ items: z.array(jobSchema), nextCursor: z.string().nullable() });

/** The public form of a job: what callers need and nothing of how it was run. */
export function toHttpJob(job: JobView): z.infer<typeof jobSchema> {
  const { id, kind, status, progress, stage, retention, retryOf, createdAt, endedAt } = job;
  return {
    id,
    kind,
    status,
    progress,
    stage,
    ...(job.error ? { error: { code: job.error.code, message: job.error.message } } : {}),
    outputs: job.outputs.map(({ imageId }) => ({
      imageId,
      url: `/api/v1/images/${imageId}/file?variant=original`,
    })),
    retention,
    retryOf,
    createdAt,
    endedAt,
  };
}

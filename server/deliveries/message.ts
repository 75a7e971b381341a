import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Services } from "../services.ts";
import { DeliveryError, type OwedDelivery } from "./channel.ts";

/** A job as messages describe it: without prompts, and with links instead of pictures. Times are ISO 8601, UTC. */
export interface MessageJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: string;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly sessionId: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Page of the job. */
  readonly url: string;
  /** Pictures in their order; the links need the owner's session or API key. */
  readonly outputs: readonly { readonly imageId: string; readonly url: string }[];
}

/** The job of a delivery. Throws a `DeliveryError` when it was removed. */
export async function readMessageJob(services: Services, { jobId }: OwedDelivery): Promise<MessageJob> {
  const { jobs, jobOutputs } = schema;
  const [job] = jobId === null ? [] : await services.db.select().from(jobs).where(eq(jobs.id, jobId));
  if (!job) throw new DeliveryError("refused", "The job was removed.");
  const outputs = await services.db
    .select({ imageId: jobOutputs.imageId })
    .from(jobOutputs)
    .where(eq(jobOutputs.jobId, job.id))
    .orderBy(jobOutputs.position);
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    createdAt: job.createdAt.toISOString(),
    endedAt: job.endedAt?.toISOString() ?? null,
    error: job.errorCode === null ? null : { code: job.errorCode, message: job.errorMessage ?? "" },
    sessionId: job.sessionId,
    metadata: job.metadata,
    url: linkTo(services, `/jobs/${job.id}`),
    outputs: outputs.map(({ imageId }) => outputOf(services, imageId)),
  };
}

/** A batch as webhooks describe it. Times are ISO 8601, UTC. */
export interface MessageBatch {
  readonly id: string;
  readonly title: string | null;
  readonly size: number;
  readonly createdAt: string;
  /** Null where jobs of it run again by now. */
  readonly endedAt: string | null;
  /** In the order of the batch; jobs that were removed are left out. */
  readonly jobs: readonly (Pick<MessageJob, "id" | "status" | "outputs"> & { readonly position: number })[];
}

/** Throws a `DeliveryError` when it was removed. */
export async function readMessageBatch(services: Services, batchId: string): Promise<MessageBatch> {
  const { batches, batchJobs, jobs, jobOutputs } = schema;
  const [batch] = await services.db.select().from(batches).where(eq(batches.id, batchId));
  if (!batch) throw new DeliveryError("refused", "The batch was removed.");
  const rows = await services.db
    .select({ position: batchJobs.position, id: jobs.id, status: jobs.status, imageId: jobOutputs.imageId })
    .from(batchJobs)
    .innerJoin(jobs, eq(jobs.id, batchJobs.jobId))
    .leftJoin(jobOutputs, eq(jobOutputs.jobId, jobs.id))
    .where(eq(batchJobs.batchId, batchId))
    .orderBy(batchJobs.position, jobOutputs.position);
  const { id, title, size, createdAt, endedAt } = batch;
  return {
    id,
    title,
    size,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    jobs: [...Map.groupBy(rows, ({ position }) => position)].flatMap(([position, own]) => {
      const outputs = own.flatMap(({ imageId }) => (imageId === null ? [] : [outputOf(services, imageId)]));
      const [job] = own;
      return job ? [{ position, id: job.id, status: job.status, outputs }] : [];
    }),
  };
}

function outputOf(services: Services, imageId: string): MessageJob["outputs"][number] {
  return { imageId, url: linkTo(services, `/api/v1/images/${imageId}/file?variant=original`) };
}

/** An address for readers outside; without APP_URL the path alone, since the address of the studio is unknown then. */
export function linkTo({ env }: Pick<Services, "env">, path: string): string {
  return env.APP_URL ? new URL(path, env.APP_URL).href : path;
}

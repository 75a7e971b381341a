import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Services } from "../services.ts";
import { DeliveryError, type OwedDelivery } from "./channel.ts";

/** A job as messages describe it: without prompts, and with links instead of pictures. Times are ISO 8601, UTC. */
export interface MessageJob {
  readonly id: string;
  /** Name of the kind for people. */
  readonly title: string;
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

const titles: Readonly<Record<JobKind, string>> = {
  outfit_change: "Change outfit",
  upscale: "Upscale",
  inpaint: "Inpaint",
  remove_background: "Remove background",
  text_to_image: "Text to image",
  edit: "Edit with a prompt",
  restore_faces: "Restore faces",
  segment: "Select by click",
};

/** Name of a kind of jobs in messages. */
export function titleOfKind(kind: JobKind): string {
  return titles[kind];
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
    title: titles[job.kind],
    kind: job.kind,
    status: job.status,
    createdAt: job.createdAt.toISOString(),
    endedAt: job.endedAt?.toISOString() ?? null,
    error: job.errorCode === null ? null : { code: job.errorCode, message: job.errorMessage ?? "" },
    sessionId: job.sessionId,
    metadata: job.metadata,
    url: linkTo(services, `/jobs/${job.id}`),
    outputs: outputs.map(({ imageId }) => ({
      imageId,
      url: linkTo(services, `/api/v1/images/${imageId}/file?variant=original`),
    })),
  };
}

/** An address for readers outside; without APP_URL the path alone, since the address of the studio is unknown then. */
export function linkTo({ env }: Pick<Services, "env">, path: string): string {
  return env.APP_URL ? new URL(path, env.APP_URL).href : path;
}

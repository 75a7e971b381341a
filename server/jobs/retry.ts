import { and, eq, max } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { submit, type Submitted, type Submitter } from "./submit.ts";

/**
 * Runs a failed or cancelled job again as a new job with the same request. Two clicks at once make one job: the second
 * gets the first one's. Throws `not_found`, `conflict` when the job has not failed, `input_missing` when a picture is gone.
 */
export async function retry(
  services: Services,
  { submitter, id }: { submitter: Submitter; id: string },
): Promise<Submitted> {
  if (!isId(id)) throw new AppError("not_found");
  const { jobs, jobInputs, images } = schema;
  const [job] = await services.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.id, id), eq(jobs.ownerId, submitter.userId)));
  if (!job) throw new AppError("not_found");
  if (job.status !== "failed" && job.status !== "cancelled") {
    throw new AppError("conflict", "Only a failed or cancelled job can be run again.");
  }
  const inputs = await services.db
    .select({ role: jobInputs.role, imageId: jobInputs.imageId, deletedAt: images.deletedAt })
    .from(jobInputs)
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(eq(jobInputs.jobId, id));
  if (inputs.some((input) => input.deletedAt !== null)) throw new AppError("input_missing");
  const [last] = await services.db
    .select({ number: max(jobs.retryNumber) })
    .from(jobs)
    .where(eq(jobs.retryOf, id));
  const number = (last?.number ?? 0) + 1;
  const request = {
    kind: job.kind,
    params: job.params,
    inputs: Object.fromEntries(inputs.map((input) => [input.role, input.imageId])),
    retention: job.retention,
  };
  return submit(services, request, {
    submitter,
    idempotencyKey: `retry:${id}:${number}`,
    retry: { of: id, number },
  });
}

import { workerAccount } from "@atelier/server/accounts";
import { get, noteServed, openResult, type JobView } from "@atelier/server/jobs";
import { AppError } from "@atelier/server/platform";
import type { Answer, Call } from "./call.ts";

/** GET /result/{job_id}: the picture of a completed job. Throws `conflict` while there is none to come or not yet. */
export async function sendResult({ services, id, query }: Call): Promise<Answer> {
  const { id: ownerId } = await workerAccount(services);
  const job = await get(services, { ownerId, id });
  const output = job.outputs[Number(query.get("position") ?? 0)];
  if (!output) throw missing(job);
  const { imageId } = output;
  const { headers, open } = await openResult(services, { id: imageId, ownerId });
  // Without an If-None-Match there always is something to open.
  if (!open) throw new AppError("not_found");
  return { status: 200, headers, stream: await open(), onSent: () => noteServed(services, imageId) };
}

function missing({ status, error }: JobView): AppError {
  if (status === "completed") return new AppError("not_found", "The job has no such picture, or no longer.");
  if (status === "failed")
    return new AppError("conflict", `The job has failed: ${error?.message ?? "for an unknown reason."}`);
  return new AppError(
    "conflict",
    status === "cancelled" ? "The job was cancelled." : "The job is not done yet.",
  );
}

import { workerAccount } from "@atelier/server/accounts";
import { get, noteAnswer, type JobView } from "@atelier/server/jobs";
import type { Answer, Call } from "./call.ts";

/** GET /status/{job_id}: a job that came to any worker directly; others' jobs are not known here. */
export async function readStatus({ services, id }: Call): Promise<Answer> {
  const account = await workerAccount(services);
  const job = await get(services, { ownerId: account.id, id });
  // A job without a result is answered in full by this; one with a result when its file was sent.
  if (job.status === "failed" || job.status === "cancelled") await noteAnswer(services, job.id);
  return { status: 200, headers: { "cache-control": "no-store" }, json: toStatus(job) };
}

function toStatus({ id, outputs, ...job }: JobView) {
  const { status, progress, stage, error, workflow, params, queue, node, server } = job;
  const results = outputs.map(({ imageId, widthPx, heightPx }, position) => {
    const url = `/result/${id}${position > 0 ? `?position=${position}` : ""}`;
    return { imageId, widthPx, heightPx, url };
  });
  return {
    job_id: id,
    status,
    progress,
    stage,
    error,
    outputs: results,
    workflow,
    params,
    queue,
    node,
    server,
    estimate: job.estimate,
    createdAt: job.createdAt,
    startedAt: job.startedAt,
    endedAt: job.endedAt,
  };
}

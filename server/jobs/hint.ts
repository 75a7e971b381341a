import type { Services } from "../services/index.ts";
import type { Job } from "./job.ts";

/** Says after the commit which jobs changed; whoever misses it finds out within a second. */
export function hint(
  { hints }: Pick<Services, "hints">,
  jobs: readonly Pick<Job, "id" | "ownerId" | "revision">[],
): void {
  if (jobs.length === 0) return;
  hints.publish({
    type: "jobs",
    jobs: jobs.map(({ id, ownerId, revision }) => ({ jobId: id, ownerId, revision })),
  });
}

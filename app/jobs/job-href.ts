import type { JobView } from "@atelier/server/jobs";

/** Where a job leads: to its result when there is one, else to its story. */
export function jobHref(job: JobView): string {
  const imageId = job.outputs[0]?.imageId;
  return imageId === undefined ? `/jobs/${job.id}` : `/gallery?image=${imageId}`;
}

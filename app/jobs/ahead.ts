import type { JobView } from "@atelier/server/jobs";
import { hasEnded } from "../live/live-state.ts";

/** How many open jobs of the same person stand before this one; ids sort by time. */
export function countAhead(jobs: readonly JobView[], job: JobView): number {
  return jobs.filter((other) => !hasEnded(other) && other.id < job.id).length;
}

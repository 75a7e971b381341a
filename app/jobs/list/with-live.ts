import type { JobView } from "@atelier/server/jobs";
import { hasEnded } from "../../live/live-state.ts";
import type { JobFilters } from "./job-filters.ts";

function matches(job: JobView, { status, kind }: JobFilters): boolean {
  if (kind !== undefined && job.kind !== kind) return false;
  if (status === undefined) return true;
  return status === "open" ? !hasEnded(job) : job.status === status;
}

/** A loaded list brought up to date by what the stream told since: newer states, new jobs on top. */
export function withLive(
  loaded: readonly JobView[],
  live: readonly JobView[],
  filters: JobFilters,
): readonly JobView[] {
  const byId = new Map(loaded.map((job) => [job.id, job]));
  const newest = loaded[0]?.id ?? "";
  for (const job of live) {
    const known = byId.get(job.id);
    if (known === undefined ? job.id > newest : known.revision < job.revision) byId.set(job.id, job);
  }
  return [...byId.values()].filter((job) => matches(job, filters)).sort((a, b) => (a.id < b.id ? 1 : -1));
}

import type { JobStatus } from "../db/index.ts";

/** Which status may follow which; see the diagram in docs/architecture.md. Final is final. */
export const successors = {
  pending: ["queued", "failed", "cancelled"],
  queued: ["waiting_for_engine", "pending", "failed", "cancelled"],
  waiting_for_engine: ["processing", "pending", "failed", "cancelled"],
  processing: ["completed", "pending", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export const openStatuses = [
  "pending",
  "queued",
  "waiting_for_engine",
  "processing",
] as const satisfies JobStatus[];
export const claimedStatuses = ["waiting_for_engine", "processing"] as const satisfies JobStatus[];

export function canFollow(from: JobStatus, to: JobStatus): boolean {
  const allowed: readonly JobStatus[] = successors[from];
  return allowed.includes(to);
}

/** A final job never changes again. */
export function isFinal(status: JobStatus): boolean {
  return successors[status].length === 0;
}

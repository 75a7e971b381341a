import { and, eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { heldBy, type Lease } from "./lease.ts";
import { transition } from "./transition.ts";

/** A result whose objects are stored already; its row is inserted when the job completes. */
export interface StoredResult {
  readonly id: string;
  readonly storageKey: string;
  readonly storedSha256: string;
  readonly mime: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly sizeBytes: number;
  readonly thumbhash: string;
}

export interface Completion {
  readonly lease: Lease;
  readonly outputs: readonly StoredResult[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * Ends a run well: status, image rows and links in one transaction guarded by the lease. Null when the lease is no
 * longer the current one; nothing is written then and the caller discards the objects. Idempotent: after a lost answer
 * it can be called again, and finds what it committed.
 */
export async function complete(
  services: Services,
  { lease, outputs, facts }: Completion,
): Promise<Job | null> {
  const job = await services.db.transaction(async (tx) => {
    const moved = await transition(tx, {
      from: ["processing"],
      to: "completed",
      where: heldBy(lease),
      set: { progress: 1, stage: null, facts: { ...facts } },
      event: "completed",
      data: { imageIds: outputs.map((output) => output.id) },
    });
    if (!moved || outputs.length === 0) return moved;
    const rows = outputs.map((output) => ({
      ...output,
      ownerId: moved.ownerId,
      role: "result" as const,
      jobId: moved.id,
    }));
    await tx.insert(schema.images).values(rows);
    await tx
      .insert(schema.jobOutputs)
      .values(outputs.map((output, position) => ({ jobId: moved.id, position, imageId: output.id })));
    return moved;
  });
  if (!job) return findCompleted(services, lease);
  // A window counts slots, not free ones: an end makes no room in it, a claim does.
  hint(services, [job]);
  return job;
}

/** The job when this very lease completed it before, else null. */
async function findCompleted({ db }: Services, lease: Lease): Promise<Job | null> {
  const { jobs } = schema;
  const [job] = await db
    .select()
    .from(jobs)
    .where(and(heldBy(lease), eq(jobs.status, "completed")));
  return job ?? null;
}

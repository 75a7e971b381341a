import { createHash } from "node:crypto";
import { and, eq } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { SubmitRequest } from "./request.ts";

const keys = schema.idempotencyKeys;

export interface RequestMemory {
  readonly ownerId: string;
  readonly key: string;
  readonly request: SubmitRequest;
  readonly jobId: string;
}

/**
 * Stores the idempotency key with the request's hash, or finds the job that it made before. A second request
 * at the same moment waits for the first one's commit at the unique key, then reads it.
 */
export async function rememberRequest(
  tx: Tx,
  { ownerId, key, request, jobId }: RequestMemory,
): Promise<string | null> {
  const requestSha256 = createHash("sha256").update(canonical(request)).digest("hex");
  const inserted = await tx
    .insert(keys)
    .values({ ownerId, key, requestSha256, jobId })
    .onConflictDoNothing()
    .returning();
  if (inserted.length > 0) return null;
  const [known] = await tx
    .select()
    .from(keys)
    .where(and(eq(keys.ownerId, ownerId), eq(keys.key, key)));
  if (!known || known.requestSha256 !== requestSha256) throw new AppError("idempotency_mismatch");
  return known.jobId;
}

/** JSON with sorted keys, so that the order of a body's members does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

import { createHash } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { type Db, type JobStatus, schema, tiers, type Tx } from "../db/index.ts";
import { storageLimit, storageQuotaError, trashMsOf } from "../images/index.ts";
import { AppError, type Config, errorRules } from "../platform/index.ts";
import type { SubmitOptions } from "./draft.ts";
import { type Job, transitionAll } from "./job.ts";
import { clientKeyName, findBegun, ownKeyName, type RequestKey } from "./keys.ts";
import type { SubmitRequest } from "./request.ts";

/** What `accept_job` checks, besides the row itself; a missing member is not checked. */
export interface AcceptRules {
  readonly maxOpen: number;
  /** Rows that may wait in the queue; null for no limit. */
  readonly maxWaiting: number | null;
  /** From this many waiting rows on, submits to the queue take turns, so that none passes the limit. */
  readonly crowdedFrom: number;
  /** Rows of guests that may wait in the queue; set for guests only. */
  readonly maxGuests?: number;
  /** Left out where a job of the same order was checked. */
  readonly maxBytes?: number;
  /** Pictures that were deleted later than this ago use space. */
  readonly undoDeleteMs: number;
}

/** Below the limit by this many rows, or by a tenth, the count without turns is near enough. */
const crowdedRows = 100;

/** The limits of an owner and a queue. */
export function rulesFor(config: Config, isGuest: boolean): AcceptRules {
  const { limits } = config;
  const { maxWaiting } = limits;
  // A new guest account costs nothing, so all guests together may fill only a part of a line.
  const maxGuests = Math.floor(maxWaiting * limits.guestShareOfLine);
  const places = isGuest ? maxGuests : maxWaiting;
  return {
    maxOpen: isGuest ? limits.openJobsGuest : limits.openJobs,
    maxWaiting,
    crowdedFrom: Math.max(0, Math.min(places - crowdedRows, Math.floor(places * 0.9))),
    ...(isGuest ? { maxGuests } : {}),
    maxBytes: storageLimit(limits, isGuest),
    undoDeleteMs: trashMsOf(config, isGuest),
  };
}

/** Why `accept_job` stored nothing. */
export type Refusal =
  | { readonly outcome: "open_jobs"; readonly detail: { readonly own: number } }
  | { readonly outcome: "storage_quota"; readonly detail: { readonly usedBytes: number } }
  | { readonly outcome: "guests_full" | "queue_full" | "input_missing"; readonly detail: unknown };

export function refusalError(refusal: Refusal, { maxBytes }: { readonly maxBytes: number }): AppError {
  switch (refusal.outcome) {
    case "open_jobs":
      return new AppError(
        "quota_exceeded",
        `You have ${refusal.detail.own} open jobs, which is the limit. Wait until some are done.`,
      );
    case "storage_quota":
      return storageQuotaError({ usedBytes: refusal.detail.usedBytes, limitBytes: maxBytes });
    case "guests_full":
      return new AppError(
        "queue_full",
        "The places of guests in the line are taken at the moment. Try again in a few minutes, or sign in.",
      );
    case "queue_full":
      return new AppError("queue_full");
    case "input_missing":
      return new AppError("not_found", "An input picture was deleted.");
  }
}

/** Fails the oldest job of tier `low` in a full line; without such a job the line grows by one. */
export async function displaceOne(tx: Tx, queue: string): Promise<readonly Job[]> {
  return transitionAll(tx, {
    from: ["pending"],
    to: "failed",
    // Two urgent submits at the same moment displace two rows.
    where: sql`id = (select low.id from ${schema.jobs} low
      where low.queue = ${queue} and low.status = 'pending' and low.tier = ${tiers.low}
      order by low.id limit 1 for update skip locked)`,
    set: { errorCode: "displaced", errorMessage: errorRules.displaced.message },
    event: "displaced",
  });
}

/** The job that an idempotency key created before; `status` is null when it was removed. */
export interface KnownJob {
  readonly id: string;
  readonly status: JobStatus | null;
  /** Whether the request was the same. */
  readonly isSame: boolean;
}

/** The key that makes a request one job; null without one. */
export async function keyOfJob(
  db: Db,
  request: SubmitRequest,
  { submitter, idempotencyKey, ownKey, asked }: SubmitOptions,
): Promise<RequestKey | null> {
  const name = ownKey === undefined ? idempotencyKey : ownKeyName(ownKey);
  if (name === undefined) return null;
  const key = { ownerId: submitter.userId, name, sha256: sha256Of(asked ?? request) };
  return ownKey === undefined ? { ...key, name: await clientKeyName(db, key) } : key;
}

/** The job of a key, or null. Throws `idempotency_mismatch` for another request. */
export async function findKnownJob(db: Db | Tx, key: RequestKey | null): Promise<KnownJob | null> {
  const id = key && (await findBegun(db, key));
  if (id === null) return null;
  const { jobs } = schema;
  const [job] = await db.select({ status: jobs.status }).from(jobs).where(eq(jobs.id, id));
  return { id, status: job?.status ?? null, isSame: true };
}

/** Throws `idempotency_mismatch` for another request, `conflict` when the job was removed: its result is unknown. */
export function answerKnown({ id, status, isSame }: KnownJob): { id: string; status: JobStatus } {
  if (!isSame) throw new AppError("idempotency_mismatch");
  if (status === null)
    throw new AppError(
      "conflict",
      "The job of this Idempotency-Key has ended and was removed. Use a new key to run it again.",
    );
  return { id, status };
}

/** Hash of a request, for comparing a repeated one: of what is to be made, not of the bounds of its price. */
function sha256Of(request: SubmitRequest): string {
  // `undefined` leaves the member out of the JSON.
  return createHash("sha256")
    .update(canonical({ ...request, agreed: undefined }))
    .digest("hex");
}

/** JSON with sorted keys: the order of the members in a body must not change the hash. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

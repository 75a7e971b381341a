import { and, eq, sql } from "drizzle-orm";
import { fromNow, type JobStatus, schema } from "../db/index.ts";
import { isFree, isHeldBy, newToken } from "../leases/index.ts";
import { type OpenedFile, openFile, type OpenFileInput } from "../images/index.ts";
import { AppError, isAppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { noteAnswer, noteServed } from "./cleanup.ts";
import { isFinal } from "./job.ts";

const { jobs, jobOutputs, clientUsers, resultHolds } = schema;

/** A result belongs to its reader this long; renewed while the reader takes it. */
const holdMs = 120_000;

export interface HeldResult {
  readonly jobId: string;
  /** Of the job, who owns the picture as well. */
  readonly ownerId: string;
  readonly imageId: string;
  /** Null for a kept job, whose result anybody may read at any time. */
  readonly token: string | null;
}

/** What a reader of a result gets; each state has its own answer. */
export type ResultState =
  | { readonly type: "working"; readonly status: JobStatus }
  /** Another reader is being sent the result. */
  | { readonly type: "held" }
  | { readonly type: "ready"; readonly result: HeldResult }
  | { readonly type: "failed"; readonly jobId: string; readonly message: string }
  /** Completed without a picture. */
  | { readonly type: "inconsistent"; readonly jobId: string }
  | { readonly type: "other"; readonly status: JobStatus };

interface ResultReader {
  readonly userId: string;
  /** An admin reads the results of client users as well. */
  readonly isAdmin: boolean;
}

/**
 * The state of a job for a reader who takes its result once. A ready result is held for this reader: of several at the
 * same moment one gets it. The holder calls `finishResult` or `releaseResult`; after `holdMs` without either, or after a
 * crash, the result is ready again. Throws `not_found`.
 */
export async function holdResult(services: Services, reader: ResultReader, id: string): Promise<ResultState> {
  const job = await readJob(services, reader, id);
  const { status } = job;
  if (!isFinal(status)) return { type: "working", status };
  if (status === "failed") return { type: "failed", jobId: id, message: job.message ?? "" };
  if (status !== "completed") return { type: "other", status };
  if (job.imageId === null) return { type: "inconsistent", jobId: id };
  const result = { jobId: id, ownerId: job.ownerId, imageId: job.imageId };
  if (job.retention === "keep") return { type: "ready", result: { ...result, token: null } };
  const token = await hold(services, id);
  if (token !== null) return { type: "ready", result: { ...result, token } };
  // Not held: another reader has it, or was sent it and the job is gone, which this read reports.
  await readJob(services, reader, id);
  return { type: "held" };
}

async function readJob({ db }: Services, { userId, isAdmin }: ResultReader, id: string) {
  if (!isId(id)) throw new AppError("not_found");
  const ofClient = sql`exists (select 1 from ${clientUsers} c where c.user_id = ${jobs.ownerId})`;
  const own = eq(jobs.ownerId, userId);
  const [job] = await db
    .select({
      ownerId: jobs.ownerId,
      status: jobs.status,
      retention: jobs.retention,
      message: jobs.errorMessage,
      imageId: sql<string | null>`(
        select o.image_id from ${jobOutputs} o where o.job_id = ${jobs.id} order by o.position limit 1)`,
    })
    .from(jobs)
    .where(and(eq(jobs.id, id), isAdmin ? sql`(${own} or ${ofClient})` : own));
  if (!job) throw new AppError("not_found");
  return job;
}

/** Null when another reader holds the result, or the job is gone. The row of the hold decides between two at once. */
async function hold({ db }: Services, jobId: string): Promise<string | null> {
  const token = newToken();
  const rows = await db.execute<{ token: string }>(sql`
    insert into ${resultHolds} (job_id, token, held_until)
    select id, ${token}::uuid, ${fromNow(holdMs)} from ${jobs} where id = ${jobId} for key share
    on conflict (job_id) do update set token = excluded.token, held_until = excluded.held_until
      where ${isFree({ until: resultHolds.heldUntil })}
    returning token`);
  return rows[0]?.token ?? null;
}

type Held = Pick<HeldResult, "jobId" | "token">;

const isHeldWith = (jobId: string, token: string) =>
  and(eq(resultHolds.jobId, jobId), isHeldBy(resultHolds, token));

/** Holds the result for longer; false when the hold had run out and another reader has the result. */
export async function renewResult({ db }: Services, { jobId, token }: Held): Promise<boolean> {
  if (token === null) return true;
  const renewed = await db
    .update(resultHolds)
    .set({ heldUntil: fromNow(holdMs) })
    .where(isHeldWith(jobId, token))
    .returning({ jobId: resultHolds.jobId });
  return renewed.length > 0;
}

/** Gives the result back: the next reader gets it. Never throws, since the hold runs out by itself. */
export async function releaseResult({ db, log }: Services, { jobId, token }: Held): Promise<void> {
  if (token === null) return;
  try {
    await db.delete(resultHolds).where(isHeldWith(jobId, token));
  } catch (error) {
    log.warn({ err: error, jobId }, "held result not given back, it will be when its time is over");
  }
}

/**
 * The result was handed over in full; that the client has it, nothing tells. So it can be read again until the time of a
 * complete answer is over. Never throws.
 */
export async function finishResult(services: Services, held: Held): Promise<void> {
  if (held.token === null) return;
  await noteAnswer(services, held.jobId);
  await releaseResult(services, held);
}

/**
 * Opens the original of a picture for its owner. A missing file never comes back, so `file_missing` counts as the full
 * result and the ephemeral job is removed too. Throws `not_found`, `file_missing`, `storage_unavailable`.
 */
export async function openResult(
  services: Services,
  input: Omit<OpenFileInput, "variant">,
): Promise<OpenedFile> {
  try {
    const allowsLink = input.allowsLink && !(await isEphemeralResult(services.db, input.id));
    return await openFile(services, { ...input, allowsLink, variant: "original" });
  } catch (error) {
    if (isAppError(error) && error.code === "file_missing") await noteServed(services, input.id);
    throw error;
  }
}

/** The result of an ephemeral job goes after it was read, which only a stream can tell. */
async function isEphemeralResult(db: Services["db"], imageId: string): Promise<boolean> {
  const found = await db
    .select({ id: jobs.id })
    .from(jobOutputs)
    .innerJoin(jobs, eq(jobs.id, jobOutputs.jobId))
    .where(and(eq(jobOutputs.imageId, imageId), eq(jobs.retention, "ephemeral")))
    .limit(1);
  return found.length > 0;
}

import { asc, eq, inArray, lte, sql } from "drizzle-orm";
import { fromNow, schema } from "../db/index.ts";
import { oweOnce } from "../deliveries/index.ts";
import type { Services } from "../services.ts";

const { jobs, telegramJobs, telegramLinks } = schema;

/** A job that was started in a chat, with the message there that shows its progress. */
export interface JobMessage {
  readonly jobId: string;
  readonly ownerId: string;
  readonly chatId: string;
  /** Null before it was sent. */
  readonly messageId: number | null;
  /** What it shows. */
  readonly text: string | null;
}

/** Has the progress of a job be shown in the chat; the first message is sent by whichever process edits them. */
export async function showJob(
  { db }: Pick<Services, "db">,
  { jobId, chatId }: { readonly jobId: string; readonly chatId: string },
): Promise<void> {
  await db
    .insert(telegramJobs)
    .values({ jobId, chatId, notBefore: fromNow(0) })
    .onConflictDoNothing();
}

const mostAtOnce = 100;

/** Messages that may be edited now. */
export async function findDueMessages({ db }: Pick<Services, "db">): Promise<JobMessage[]> {
  return db
    .select(columns)
    .from(telegramJobs)
    .innerJoin(jobs, eq(jobs.id, telegramJobs.jobId))
    .where(lte(telegramJobs.notBefore, sql`clock_timestamp()`))
    .orderBy(asc(telegramJobs.notBefore))
    .limit(mostAtOnce);
}

const columns = {
  jobId: telegramJobs.jobId,
  ownerId: jobs.ownerId,
  chatId: telegramJobs.chatId,
  messageId: telegramJobs.messageId,
  text: telegramJobs.text,
};

/** The jobs of a chat that have not ended yet. */
export async function findJobsOf(
  { db }: Pick<Services, "db">,
  chatId: string,
): Promise<Pick<JobMessage, "jobId" | "ownerId">[]> {
  const rows = await db
    .select(columns)
    .from(telegramJobs)
    .innerJoin(jobs, eq(jobs.id, telegramJobs.jobId))
    .where(eq(telegramJobs.chatId, chatId))
    .orderBy(asc(telegramJobs.jobId));
  return rows.map(({ jobId, ownerId }) => ({ jobId, ownerId }));
}

/** Notes what a message shows, and how long it stays so. */
export async function noteShown(
  { db }: Pick<Services, "db">,
  shown: {
    readonly jobId: string;
    readonly messageId: number;
    readonly text: string;
    readonly restMs: number;
  },
): Promise<void> {
  const { jobId, messageId, text, restMs } = shown;
  await db
    .update(telegramJobs)
    .set({ messageId, text, notBefore: fromNow(restMs) })
    .where(eq(telegramJobs.jobId, jobId));
}

/** Leaves messages as they are for a while: nothing changed, or Telegram asked to wait. */
export async function postponeMessages(
  { db }: Pick<Services, "db">,
  jobIds: readonly string[],
  restMs: number,
): Promise<void> {
  if (jobIds.length === 0) return;
  await db
    .update(telegramJobs)
    .set({ notBefore: fromNow(restMs) })
    .where(inArray(telegramJobs.jobId, [...jobIds]));
}

/**
 * The message shows the end of the job. The result of a completed one is owed to the chat that asked for it, also when the
 * account's notifications are off; with notifications on it is owed already, once.
 */
export async function endMessage(
  { db }: Pick<Services, "db">,
  { jobId, ownerId, chatId, isCompleted }: JobMessage & { readonly isCompleted: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.delete(telegramJobs).where(eq(telegramJobs.jobId, jobId)).returning();
    if (!row || !isCompleted) return;
    const linked = sql`user_id = ${ownerId} and chat_id = ${chatId}`;
    if ((await tx.$count(telegramLinks, linked)) === 0) return;
    await oweOnce(tx, { jobId, ownerId, channel: "telegram", target: chatId, event: "job.completed" });
  });
}

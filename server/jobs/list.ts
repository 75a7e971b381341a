import { sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { jobStatuses, openStatuses, taskMark, toPage } from "../db/index.ts";
import { jobKinds } from "../engines.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type JobView, loadViews } from "./read.ts";
import { sessionIdSchema } from "./request.ts";

export const listJobsSchema = z.object({
  /** `nextCursor` of the previous page. */
  cursor: z.string().max(64).meta({ format: "cursor" }).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  status: z.enum(["open", ...jobStatuses]).optional(),
  kind: z.enum(jobKinds).optional(),
  sessionId: sessionIdSchema.optional(),
});

export type ListJobsInput = z.output<typeof listJobsSchema>;

export interface JobPage {
  readonly items: readonly JobView[];
  readonly nextCursor: string | null;
}

/** An owner's jobs, newest first. Ids sort by time, so the last id is the cursor. */
export async function list(services: Services, input: ListJobsInput & { ownerId: string }): Promise<JobPage> {
  const { ownerId, cursor, limit, status, kind, sessionId } = input;
  if (cursor !== undefined && !isId(cursor))
    throw new AppError("bad_request", "The cursor is invalid. Use the nextCursor of the previous page.");
  const filters: SQL[] = [sql`jobs.owner_id = ${ownerId}`];
  if (cursor) filters.push(sql`jobs.id < ${cursor}`);
  if (kind) filters.push(sql`jobs.kind = ${kind}`);
  if (sessionId) filters.push(sql`jobs.session_id = ${sessionId}`);
  if (status === "open") filters.push(sql`jobs.status in ${[...openStatuses]}`);
  else if (status) filters.push(sql`jobs.status = ${status}`);
  const items = await loadViews(
    services.db,
    sql.join(filters, sql` and `),
    sql`order by jobs.id desc limit ${limit + 1}`,
  );
  return toPage(items, limit, "id");
}

interface TaskPage {
  /** The jobs of each task, the first one first. */
  readonly tasks: readonly (readonly JobView[])[];
  readonly nextCursor: string | null;
}

/**
 * An owner's tasks of MCP, the newest first. Ids of tasks sort by time and never change, so the last one is the cursor, and a page
 * ends behind a whole task.
 */
export async function listTasks(
  { db }: Pick<Services, "db">,
  { ownerId, cursor }: { ownerId: string; cursor?: string | undefined },
): Promise<TaskPage> {
  if (cursor !== undefined && !isId(cursor)) throw new AppError("bad_request", "The cursor is invalid.");
  const before = cursor === undefined ? sql`` : sql`and session_id < ${taskMark + cursor}`;
  // Programs name their own sessions: the pattern leaves out those that only begin like a task.
  const found = await db.execute<{ sessionId: string }>(sql`
    select session_id as "sessionId" from jobs
    where owner_id = ${ownerId} and ${isTask} ${before}
    group by session_id order by session_id desc limit ${tasksPerPage + 1}`);
  const sessions = found.slice(0, tasksPerPage).map(({ sessionId }) => sessionId);
  const last = sessions.at(-1);
  if (last === undefined) return { tasks: [], nextCursor: null };
  const jobs = await loadViews(
    db,
    sql`jobs.owner_id = ${ownerId} and jobs.session_id in ${sessions}`,
    sql`order by jobs.session_id desc, jobs.id`,
  );
  const tasks = [...Map.groupBy(jobs, ({ sessionId }) => sessionId).values()];
  return { tasks, nextCursor: found.length > tasksPerPage ? last.slice(taskMark.length) : null };
}

const tasksPerPage = 50;
const isTask = sql.raw(
  `starts_with(session_id, '${taskMark}') and session_id ~ '^${taskMark}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`,
);

/** A prompt as it was written, before anything was drawn from it. */
export interface WrittenPrompt {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** It has choices or lists; else its signs stand for themselves. */
  readonly isTemplate: boolean;
}

const prompts = { looked: 1_000, shown: 100 } as const;

/** What an owner made pictures from last, each prompt once, newest first. */
export async function listPrompts({ db }: Services, ownerId: string): Promise<WrittenPrompt[]> {
  return db.execute<WrittenPrompt & Record<string, unknown>>(sql`
    select prompt, "negativePrompt", "isTemplate" from (
      select distinct on (prompt, "negativePrompt") * from (
        select id, coalesce(template ->> 'prompt', params ->> 'prompt') as prompt,
          coalesce(case when template is null then params ->> 'negativePrompt' else template ->> 'negativePrompt' end, '')
            as "negativePrompt", template is not null as "isTemplate"
        from jobs where owner_id = ${ownerId} and kind = 'text_to_image' order by id desc limit ${prompts.looked}) recent
      where prompt <> '' order by prompt, "negativePrompt", id desc) written
    order by id desc limit ${prompts.shown}`);
}

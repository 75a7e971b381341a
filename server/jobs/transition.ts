import { getTableColumns, is, SQL, sql } from "drizzle-orm";
import { schema, type Db, type JobStatus, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import { jobFromRow, type Job } from "./job.ts";
import { canFollow } from "./status.ts";

/** What happens to a job, each a line of its story. */
export type JobEventType =
  | "created"
  | "queued"
  | "claimed"
  | "posted"
  | "started"
  | "progress"
  | "completed"
  | "failed"
  | "requeued"
  | "handed_back"
  | "worker_lost"
  | "moved"
  | "reordered"
  | "displaced"
  | "servers_forgiven"
  | "tier_changed"
  | "cancel_requested"
  | "cancelled";

type Changes = { [Column in keyof Job]?: Job[Column] | SQL };

/** A change of status of one or several jobs, and the line that it adds to their stories. */
export interface Transition {
  readonly from: readonly JobStatus[];
  readonly to: JobStatus;
  /** Which rows; together with `from` this is the guard. */
  readonly where: SQL;
  readonly set?: Changes;
  /**
   * When true, a row that bears a cancel request goes to `cancelled` in the same statement, so that no request
   * is lost between a worker's end and the next claim.
   */
  readonly honourCancel?: boolean;
  readonly event: JobEventType;
  readonly data?: Readonly<Record<string, unknown>>;
}

const columns = getTableColumns(schema.jobs);
const jobsTable = schema.jobs;

function assignments(set: Changes): SQL {
  const pairs = Object.entries(set).map(([name, value]) => {
    const column = columns[name as keyof typeof columns];
    return sql`${sql.identifier(column.name)} = ${is(value, SQL) ? value : sql.param(value, column)}`;
  });
  return pairs.length > 0 ? sql`, ${sql.join(pairs, sql`, `)}` : sql``;
}

interface Change {
  readonly status: SQL;
  readonly where: SQL;
  readonly set: Changes;
  readonly event: JobEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One statement: the guarded update, which raises `revision`, and the event under that revision. */
async function change(db: Db | Tx, { status, where, set, event, data }: Change): Promise<Job[]> {
  const result = await db.execute<Record<string, unknown>>(sql`
    with moved as (
      update ${jobsTable} set status = ${status}, revision = revision + 1 ${assignments(set)}
      where ${where} returning *
    ), logged as (
      insert into ${schema.jobEvents} (job_id, revision, type, status, data)
      select id, revision, case when status = 'cancelled' then 'cancelled' else ${event}::text end, status, ${JSON.stringify(data)}::jsonb
      from moved
    )
    select * from moved`);
  return result.rows.map(jobFromRow);
}

/** Rows that several workers may change at once are locked in one order, so that no two wait for each other. */
export function inOrderOfId(where: SQL): SQL {
  return sql`${jobsTable.id} in (select ${jobsTable.id} from ${jobsTable} where ${where} order by ${jobsTable.id} for update)`;
}

/** The only writer of `status`. Rows that do not match are left alone; no row back means that somebody else was first. */
export async function transitionAll(db: Db | Tx, transition: Transition): Promise<Job[]> {
  const input = changeOf(transition);
  return change(db, { ...input, where: inOrderOfId(input.where) });
}

function changeOf({ from, to, where, honourCancel, set, event, data }: Transition): Change {
  const wrong = from.find((status) => !canFollow(status, to));
  if (wrong) throw new AppError("internal", `No job goes from ${wrong} to ${to}.`);
  return {
    status: honourCancel
      ? sql`case when cancel_requested_at is null then ${to} else 'cancelled' end`
      : sql`${to}`,
    where: sql`${jobsTable.status} in ${[...from]} and (${where})`,
    set: { ...endingSet(to, honourCancel ?? false), ...set },
    event,
    data: data ?? {},
  };
}

function endingSet(to: JobStatus, honourCancel: boolean): Changes {
  if (to === "completed" || to === "failed" || to === "cancelled") return { endedAt: sql`clock_timestamp()` };
  if (honourCancel) {
    return { endedAt: sql`case when cancel_requested_at is null then null else clock_timestamp() end` };
  }
  return {};
}

/** `transitionAll` for one job; null when the guard did not hold. */
export async function transition(db: Db | Tx, input: Transition): Promise<Job | null> {
  const [job] = await change(db, changeOf(input));
  return job ?? null;
}

/** A change of anything but the status, under the same guard, revision and story. */
export interface Amendment {
  readonly where: SQL;
  readonly set: Omit<Changes, "status">;
  readonly event: JobEventType;
  readonly data?: Readonly<Record<string, unknown>>;
}

export async function amendAll(db: Db | Tx, { where, set, event, data = {} }: Amendment): Promise<Job[]> {
  return change(db, { status: sql`status`, where: inOrderOfId(where), set, event, data });
}

/** `amendAll` for one job; null when the guard did not hold. */
export async function amend(db: Db | Tx, amendment: Amendment): Promise<Job | null> {
  const { where, set, event, data = {} } = amendment;
  const [job] = await change(db, { status: sql`status`, where, set, event, data });
  return job ?? null;
}

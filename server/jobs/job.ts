import { eq, getTableColumns, is, sql, SQL } from "drizzle-orm";
import { type Db, type JobStatus, rowReader, schema, type Tier, tiers, type Tx } from "../db/index.ts";
import { owe } from "../deliveries/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import type { Services } from "../services.ts";

export type Job = typeof schema.jobs.$inferSelect;

/** Which status may follow which; the diagram is in `index.ts`. A final status never changes. */
const successors = {
  pending: ["queued", "failed", "cancelled"],
  queued: ["waiting_for_engine", "pending", "failed", "cancelled"],
  waiting_for_engine: ["processing", "pending", "failed", "cancelled"],
  processing: ["completed", "pending", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export function canFollow(from: JobStatus, to: JobStatus): boolean {
  const allowed: readonly JobStatus[] = successors[from];
  return allowed.includes(to);
}

/** A final job never changes again. */
export function isFinal(status: JobStatus): boolean {
  return successors[status].length === 0;
}

// Safe: the keys of `tiers` are the tiers.
const tierNames = Object.keys(tiers) as Tier[];

/** The name of a row's tier. */
export function tierOf(tier: number): Tier {
  return tierNames.find((name) => tiers[name] === tier) ?? "normal";
}

/** Types of the events in a job's story. */
export type JobEventType =
  | "created"
  | "queued"
  | "claimed"
  | "posted"
  | "provider_tried"
  | "provider_failed"
  | "provider_accepted"
  | "provider_lost"
  | "providers_busy"
  | "overflowed"
  | "went_home"
  | "model_changed"
  | "started"
  | "progress"
  | "completed"
  | "failed"
  | "requeued"
  | "handed_back"
  | "worker_lost"
  | "restored"
  | "moved"
  | "reordered"
  | "displaced"
  | "servers_forgiven"
  | "tier_changed"
  | "cancel_requested"
  | "cancelled";

type Changes = { [Column in keyof Job]?: Job[Column] | SQL };

/** A change of status of one or several jobs, with the event that it adds to their stories. */
export interface Transition {
  readonly from: readonly JobStatus[];
  readonly to: JobStatus;
  /** Rows that match `when` go on to a second status, with an event and a revision of its own. */
  readonly andThen?: { readonly when: SQL; readonly to: JobStatus; readonly event: JobEventType };
  /** Further common table expressions of the statement, which may read the changed rows as `moved`. */
  readonly also?: SQL;
  /** Selects the rows; `from` and `where` together are the guard. */
  readonly where: SQL;
  readonly set?: Changes;
  readonly event: JobEventType;
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * With `transitionAll` the only writer of `status`. Null when no row matched: another process changed the job first.
 * A row with a cancel request that would wait again or fail goes to `cancelled` in the same statement, whatever ended
 * its run; a result that came in spite of it is kept.
 */
export async function transition(db: Db | Tx, input: Transition): Promise<Job | null> {
  const [job] = await change(db, changeOf(input));
  return job ?? null;
}

/** `transition` for all rows that match, locked in the order of their ids. Returns the changed rows. */
export async function transitionAll(db: Db | Tx, transition: Transition): Promise<Job[]> {
  const input = changeOf(transition);
  return change(db, { ...input, where: inOrderOfId(input.where) });
}

/** A change of other columns than `status`; it raises the revision and adds an event like a transition. */
export interface Amendment {
  readonly where: SQL;
  readonly set: Omit<Changes, "status">;
  /** Further common table expressions of the statement. */
  readonly also?: SQL;
  readonly event: JobEventType;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Changes one job; null when no row matched. */
export async function amend(db: Db | Tx, amendment: Amendment): Promise<Job | null> {
  const { where, set, also, event, data = {} } = amendment;
  const [job] = await change(db, { status: sql`status`, where, set, also, event, data });
  return job ?? null;
}

/** `amend` for all rows that match, locked in the order of their ids. */
export async function amendAll(
  db: Db | Tx,
  { where, set, also, event, data = {} }: Amendment,
): Promise<Job[]> {
  return change(db, { status: sql`status`, where: inOrderOfId(where), set, also, event, data });
}

interface Change {
  readonly status: SQL;
  readonly andThen?: Transition["andThen"] | undefined;
  readonly also?: SQL | undefined;
  readonly where: SQL;
  readonly set: Changes;
  readonly event: JobEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

function changeOf(transition: Transition): Change {
  const { from, to, andThen, where, set = {}, event, data, also } = transition;
  const honours = to === "pending" || to === "failed";
  const steps = [
    ...from.map((status) => [status, to] as const),
    ...(andThen ? [[to, andThen.to] as const] : []),
  ];
  const wrong = steps.find(([status, next]) => !canFollow(status, next));
  if (wrong) throw new AppError("internal", `No job goes from ${wrong.join(" to ")}.`);
  return {
    status: honours ? sql`case when cancel_requested_at is null then ${to} else 'cancelled' end` : sql`${to}`,
    andThen,
    also: sql`${also ?? sql``}${owedBy(to)}`,
    where: sql`${jobsTable.status} in ${[...from]} and (${where})`,
    set: { ...endingSet(to), ...(to === "failed" ? unlessCancelled(set) : set) },
    event,
    data: data ?? {},
  };
}

/** Whoever ends a job also owes its deliveries, in the same statement. Nobody is told of a cancelled job. */
function owedBy(to: JobStatus): SQL {
  if (to === "completed") return owe("job.completed");
  return to === "failed" ? owe("job.failed") : sql``;
}

function endingSet(to: JobStatus): Changes {
  if (isFinal(to)) return { endedAt: sql`clock_timestamp()` };
  if (to !== "pending") return {};
  return { endedAt: sql`case when cancel_requested_at is null then null else clock_timestamp() end` };
}

const ofFailure = ["errorCode", "errorMessage", "errorDetails"] as const;

/** A cancelled job has no error, although its run failed. */
function unlessCancelled(set: Changes): Changes {
  const kept = ofFailure.flatMap((name) => {
    const value = set[name];
    if (value === undefined) return [];
    const column = returnedColumns[name];
    const given = is(value, SQL) ? value : sql.param(value, column);
    const type = sql.raw(column.getSQLType());
    return [[name, sql`case when cancel_requested_at is null then (${given})::${type} end`] as const];
  });
  return { ...set, ...Object.fromEntries(kept) };
}

/** One statement for the guarded update, which raises `revision`, and the event with that revision. */
async function change(db: Db | Tx, input: Change): Promise<Job[]> {
  const { status, andThen, where, set, event, data, also } = input;
  const dataText = JSON.stringify(data);
  const result = await db.execute<Record<string, unknown>>(
    andThen
      ? sql`
    with moved as (
      update ${jobsTable} set status = case when ${andThen.when} then ${andThen.to} else ${status} end,
        revision = revision + case when ${andThen.when} then 2 else 1 end ${assignments(set)}
      where ${where} returning *
    ), logged as (
      insert into ${schema.jobEvents} (job_id, revision, type, status, data)
      select id, revision - case when ${andThen.when} then 1 else 0 end, ${event}::text, ${status}, ${dataText}::jsonb from moved
      union all select id, revision, ${andThen.event}::text, status, '{}'::jsonb from moved where ${andThen.when}
    )${also ?? sql``}
    select * from moved`
      : sql`
    with moved as (
      update ${jobsTable} set status = ${status}, revision = revision + 1 ${assignments(set)}
      where ${where} returning *
    ), logged as (
      insert into ${schema.jobEvents} (job_id, revision, type, status, data)
      select id, revision, case when status = 'cancelled' then 'cancelled' else ${event}::text end, status, ${dataText}::jsonb
      from moved
    )${also ?? sql``}
    select * from moved`,
  );
  return result.map(jobFromRow);
}

const returnedColumns = getTableColumns(schema.jobs);
const jobsTable = schema.jobs;

function assignments(set: Changes): SQL {
  const pairs = Object.entries(set).map(([name, value]) => {
    const column = returnedColumns[name as keyof typeof returnedColumns];
    return sql`${sql.identifier(column.name)} = ${is(value, SQL) ? value : sql.param(value, column)}`;
  });
  return pairs.length > 0 ? sql`, ${sql.join(pairs, sql`, `)}` : sql``;
}

/** Locks the rows in the order of their ids, so that two statements about the same rows cannot deadlock. */
export function inOrderOfId(where: SQL): SQL {
  return sql`${jobsTable.id} in (select ${jobsTable.id} from ${jobsTable} where ${where} order by ${jobsTable.id} for update)`;
}

/** The right of a worker to write a job, given by the claim; every later write of that worker checks it. */
export interface Lease {
  readonly jobId: string;
  readonly attempt: number;
  readonly nodeId: string;
}

/** SQL condition: the lease is still the current one. The writes of a late worker match no row. */
export function heldBy({ jobId, attempt, nodeId }: Lease): SQL {
  const { id, attempt: attemptColumn, nodeId: nodeColumn } = schema.jobs;
  return sql`${id} = ${jobId} and ${attemptColumn} = ${attempt} and ${nodeColumn} = ${nodeId}`;
}

/** SQL expression: number of charged attempts after which the job fails. */
export function maxChargedOf({ limits }: Config): SQL {
  // `least` ignores null: without `maxRetries` the limit of the configuration applies.
  return sql`least(${limits.maxCharged}::int, ${schema.jobs.maxRetries} + 1)`;
}

/** The current row; null when the job was removed. */
export async function readJob({ db }: Pick<Services, "db">, id: string): Promise<Job | null> {
  const [job] = await db.select().from(schema.jobs).where(eq(schema.jobs.id, id));
  return job ?? null;
}

/** Publishes after the commit which jobs changed. A lost hint costs at most one second: the poll finds the change. */
export function hint(
  { hints }: Pick<Services, "hints">,
  jobs: readonly (Pick<Job, "id" | "ownerId" | "revision"> & { readonly status?: JobStatus })[],
): void {
  if (jobs.length === 0) return;
  const ended = jobs.filter(({ status }) => status === "completed" || status === "failed");
  if (ended.length > 0) hints.tellEnded(ended.map(({ id }) => id));
  hints.publish({
    type: "jobs",
    jobs: jobs.map(({ id, ownerId, revision }) => ({ jobId: id, ownerId, revision })),
  });
}

/** Maps a row that a hand-written statement returned. */
export const jobFromRow = rowReader(schema.jobs);

import { eq, sql, type SQL } from "drizzle-orm";
import {
  type Db,
  deleteInBatches,
  duration,
  isDatabaseAway,
  type JobLogLevel,
  maxJobLogs,
  schema,
} from "../db/index.ts";
import { AppError, followLog, isFunction, isId, orLate } from "../platform/index.ts";
import type { Services } from "../services.ts";

/** Lines wait this long, so that a busy process stores them with one statement a second. */
const waitMs = 1_000;
/** The platform waits with a function for its lines, so it stores those of one request. */
const waitOfFunctionMs = 20;
const maxBatch = 2_000;
/** A process that ends does not wait longer than this for a database that is away. */
const closeMs = 3_000;
/** Lines that wait while the database is away; what comes beyond them is in the log files alone. */
const maxWaiting = 5_000;
const maxDataCharacters = 8_192;

export interface JobLogs {
  /** Stores the lines that still wait, and follows the log no more. */
  close(): Promise<void>;
}

/**
 * Stores each line of the process's log that names a job, as `readJobLogs` and `readNodeLogs` return it: at level info
 * or above, the first `maxJobLogs` of a job, without stacks. Lines are stored in batches, so none costs a job a
 * statement; the last second of a killed process is in its log files alone.
 */
export function keepJobLogs(services: Pick<Services, "db" | "env" | "later" | "log">): JobLogs {
  const { db, log, later } = services;
  const isFrozen = isFunction(services.env);
  let waiting: Line[] = [];
  let timer: NodeJS.Timeout | null = null;
  let storing: Promise<void> = Promise.resolve();
  let isFailing = false;
  let isClosed = false;

  const storeBatch = async () => {
    const batch = waiting.splice(0, maxBatch);
    if (batch.length === 0) return;
    try {
      waiting.unshift(...(await insertLines(db, batch)));
      isFailing = false;
    } catch (error) {
      if (isDatabaseAway(error)) waiting = [...batch, ...waiting].slice(0, maxWaiting);
      if (!isFailing) log.warn({ err: error, lines: batch.length }, "log lines of jobs not stored");
      isFailing = true;
    }
  };
  const schedule = () => {
    if (timer || isClosed || waiting.length === 0) return;
    const stored = Promise.withResolvers<void>();
    later(stored.promise);
    const store = () => {
      storing = storeBatch().finally(() => {
        timer = null;
        stored.resolve();
        // A function does not stay awake for a database that is away: the next line tries again.
        if (!isFailing || !isFrozen) schedule();
      });
    };
    timer = setTimeout(store, isFrozen ? waitOfFunctionMs : waitMs).unref();
  };
  const stopFollowing = followLog(log, (text) => {
    if (waiting.length < maxWaiting) waiting.push(...parseLine(text));
    schedule();
  });
  const storeRest = async () => {
    await storing;
    do await storeBatch();
    while (waiting.length > 0 && !isFailing);
  };
  return {
    async close() {
      isClosed = true;
      stopFollowing();
      if (timer) clearTimeout(timer);
      await orLate(storeRest(), closeMs, () => undefined);
    },
  };
}

interface Line {
  readonly jobId: string;
  readonly level: JobLogLevel;
  readonly process: string;
  readonly nodeId: string | null;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: string;
}

/** Names of pino's numbers from info on. */
const levels: Readonly<Record<number, JobLogLevel>> = { 30: "info", 40: "warn", 50: "error", 60: "fatal" };

/** A line of the log as one line for each job that it names; empty when it names none. */
function parseLine(text: string): Line[] {
  if (!text.includes('"jobId')) return [];
  // Safe: the log writes one JSON object a line.
  const {
    jobId,
    jobIds,
    nodeId,
    level,
    time,
    msg,
    process: source,
    ...rest
  } = JSON.parse(text) as Record<string, unknown>;
  const ids = [jobId, ...(Array.isArray(jobIds) ? (jobIds as unknown[]) : [])];
  const line = {
    level: levels[Number(level)] ?? "info",
    process: typeof source === "string" ? source : "",
    nodeId: typeof nodeId === "string" && isId(nodeId) ? nodeId : null,
    message: typeof msg === "string" ? msg : "",
    data: boundData({ ...rest, ...("err" in rest ? { err: withoutStack(rest.err) } : {}) }),
    at: new Date(Number(time)).toISOString(),
  };
  return ids.flatMap((id) => (typeof id === "string" && isId(id) ? [{ jobId: id, ...line }] : []));
}

function withoutStack(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return error;
  const { stack: _stack, cause, ...rest } = error as Record<string, unknown>;
  return cause === undefined ? rest : { ...rest, cause: withoutStack(cause) };
}

function boundData(data: Line["data"]): Line["data"] {
  return JSON.stringify(data).length <= maxDataCharacters ? data : { isInLogFileOnly: true };
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const toStorable = (_name: string, value: unknown) =>
  typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value;

/**
 * Inserts lines of existing jobs, numbered from the last line of each job on. Returns the lines whose number another
 * process took at the same moment.
 */
async function insertLines(db: Db, lines: readonly Line[]): Promise<Line[]> {
  const { jobs, jobLogs } = schema;
  const rows = lines.map((line, place) => ({ place, ...line }));
  const result = await db.execute<{ place: number }>(sql`
    with numbered as (
      select l.*, row_number() over (partition by l."jobId" order by l.place)
        + coalesce((select max(o.number) from ${jobLogs} o where o.job_id = l."jobId"), 0) as number
      from json_to_recordset(${JSON.stringify(rows, toStorable)}::json) as l(place int, "jobId" uuid, level text,
        process text, "nodeId" uuid, message text, data json, at timestamptz)
      where exists (select from ${jobs} j where j.id = l."jobId")
    ), added as (
      insert into ${jobLogs} (job_id, number, level, process, node_id, message, data, created_at)
      select "jobId", number, level, process, "nodeId", message, data, at from numbered where number <= ${maxJobLogs}
      on conflict do nothing returning job_id, number
    )
    select n.place from numbered n left join added a on a.job_id = n."jobId" and a.number = n.number
    where n.number <= ${maxJobLogs} and a.number is null order by n.place`);
  return result.flatMap(({ place }) => lines[place] ?? []);
}

/** A stored log line. */
export interface JobLog {
  readonly jobId: string;
  readonly number: number;
  readonly level: JobLogLevel;
  /** Name of the process: `web`, `worker`. */
  readonly process: string;
  readonly node: string | null;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** ISO 8601, UTC, by the clock of the process. */
  readonly at: string;
}

/** The log lines of a job, oldest first. Throws `not_found`. */
export async function readJobLogs({ db }: Pick<Services, "db">, { id }: { id: string }): Promise<JobLog[]> {
  const { jobs } = schema;
  const [job] = isId(id) ? await db.select({ id: jobs.id }).from(jobs).where(eq(jobs.id, id)) : [];
  if (!job) throw new AppError("not_found", `There is no job ${id}.`);
  return readLines(db, sql`l.job_id = ${id}`, maxJobLogs);
}

/** Lines of a node that are read at most. */
const maxNodeLogs = 1_000;

/** The newest log lines of jobs that the nodes of a name wrote, oldest first. Throws `not_found` for an unknown name. */
export async function readNodeLogs(
  { db }: Pick<Services, "db">,
  { name }: { name: string },
): Promise<JobLog[]> {
  const { nodes } = schema;
  const named = sql`select n.id from ${nodes} n where n.name = ${name}`;
  const found = await db.execute(sql`${named} limit 1`);
  if (found.length === 0) throw new AppError("not_found", `There is no node "${name}".`);
  return readLines(db, sql`l.node_id in (${named})`, maxNodeLogs);
}

async function readLines(db: Db, where: SQL, limit: number): Promise<JobLog[]> {
  const { jobLogs, nodes } = schema;
  const result = await db.execute<Record<string, unknown> & JobLog>(sql`
    select l.job_id as "jobId", l.number, l.level, l.process, n.name as node, l.message, l.data,
      to_char(l.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
    from (select * from ${jobLogs} l where ${where} order by l.created_at desc, l.number desc limit ${limit}) l
    left join ${nodes} n on n.id = l.node_id order by l.created_at, l.job_id, l.number`);
  return result;
}

/** Removes old lines of ended and removed jobs, with the age of events. */
export async function pruneLogs({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { jobs, jobLogs } = schema;
  const age = duration(config.retention.eventsMs);
  const isOpen = sql`exists (select from ${jobs} j where j.id = ${jobLogs.jobId} and j.ended_at is null)`;
  await deleteInBatches(db, jobLogs, sql`${jobLogs.createdAt} < now() - ${age} and not ${isOpen}`);
}

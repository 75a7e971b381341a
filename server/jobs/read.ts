import { and, eq, gt, sql, type SQL } from "drizzle-orm";
import {
  type Db,
  type Estimate,
  type JobStatus,
  type Placement,
  type PromptTemplate,
  type Retention,
  schema,
  type Tier,
  type Tx,
} from "../db/index.ts";
import { type EngineName, type InputRole, type JobKind, type Need } from "../engines.ts";
import type { Alive } from "../live/index.ts";
import { AppError, type ErrorCode, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Job, jobFromRow, tierOf } from "./job.ts";

/** A job as clients see it; the same shape in lists, live updates and single reads. Times are ISO 8601, UTC. */
export interface JobView {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  /** 0..1 */
  readonly progress: number;
  /** Key of the message catalogue `stages`; null before the first report of the engine. */
  readonly stage: string | null;
  readonly tier: Tier;
  readonly revision: number;
  readonly attempt: number;
  readonly engine: EngineName;
  readonly workflow: string | null;
  /** Model of a provider; null for own engines. */
  readonly model: string | null;
  /** The pictures do not leave the studio's own machines. */
  readonly ownOnly: boolean;
  readonly need: Need;
  readonly queue: string;
  readonly node: string | null;
  /** Address without scheme of the server of the last post; null without one. */
  readonly server: string | null;
  /** Worker of the last attempt, with its server if it uses one: `Worker-A @ 192.168.0.107:8188`; or the provider. */
  readonly executedBy: string | null;
  /** Why this place was chosen. */
  readonly placement: Placement | null;
  /** The estimate at submit. */
  readonly estimate: Estimate | null;
  /** Attempts that count against the job. */
  readonly charged: number;
  /** No attempt before this time. */
  readonly notBefore: string | null;
  readonly retention: Retention;
  readonly params: Readonly<Record<string, unknown>>;
  /** What the prompts of `params` were made from; null where they are as they were written. */
  readonly template: PromptTemplate | null;
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  readonly cancelRequested: boolean;
  readonly retryOf: string | null;
  /** Charged attempts after the first that the client allows; null when it set none. */
  readonly maxRetries: number | null;
  readonly sessionId: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Id of the HTTP request that submitted the job. */
  readonly requestId: string | null;
  readonly inputs: readonly { readonly role: InputRole; readonly imageId: string }[];
  readonly outputs: readonly JobOutputView[];
  readonly createdAt: string;
  readonly queuedAt: string | null;
  readonly claimedAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** From the start of the last attempt to its end; null before, and for a job that ended while it waited. */
  readonly processingMs: number | null;
}

interface JobOutputView {
  readonly imageId: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly thumbhash: string;
}

/** Messages of the live stream of a browser. A job of `jobs` replaces the known one if its revision is newer. */
export type JobsUpdate =
  | { readonly type: "snapshot"; readonly jobs: readonly JobView[]; readonly at: string }
  | { readonly type: "jobs"; readonly jobs: readonly JobView[]; readonly at: string }
  | {
      readonly type: "progress";
      readonly jobId: string;
      readonly attempt: number;
      readonly progress: number;
      readonly stage: string;
      /** data: URL of a small preview. */
      readonly preview: string | null;
    }
  | Alive;

/** One event of a job's story. */
export interface JobEventView {
  readonly revision: number;
  readonly type: string;
  readonly status: JobStatus;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: string;
}

/** Address without its scheme: `192.168.0.107:8188`, `gpu.example.org/comfy/1`. */
export function serverLabel(url: string): string {
  return url.replace(/^https?:\/\//, "");
}

/** `serverLabel` in SQL. */
export function serverLabelOf(url: SQL): SQL {
  return sql`regexp_replace(${url}, '^https?://', '')`;
}

interface Extras {
  readonly read_at_ms: number;
  readonly node_name: string | null;
  readonly input_links: JobView["inputs"] | null;
  readonly output_links: JobOutputView[] | null;
}

/** A job with its owner and the time of the database's clock at which it was read, milliseconds since 1970. */
export interface LoadedJob {
  readonly ownerId: string;
  readonly readAtMs: number;
  readonly view: JobView;
}

/** Reads jobs with their pictures and node in one statement, in the order of `tail`. */
export async function loadRows(
  db: Db | Tx,
  where: SQL,
  tail: SQL = sql`order by jobs.id desc`,
): Promise<LoadedJob[]> {
  const { jobs, jobInputs, jobOutputs, images, nodes } = schema;
  const result = await db.execute<Record<string, unknown> & Extras>(sql`
    select jobs.*, n.name as node_name, (extract(epoch from now()) * 1000)::float8 as read_at_ms,
      (select json_agg(json_build_object('role', i.role, 'imageId', i.image_id)) from ${jobInputs} i where i.job_id = jobs.id) as input_links,
      (select json_agg(json_build_object('imageId', m.id, 'widthPx', m.width_px, 'heightPx', m.height_px, 'thumbhash', m.thumbhash) order by o.position)
        from ${jobOutputs} o join ${images} m on m.id = o.image_id where o.job_id = jobs.id and m.deleted_at is null) as output_links
    from ${jobs} jobs left join ${nodes} n on n.id = jobs.node_id
    where ${where} ${tail}`);
  return result.map((row) => {
    const job = jobFromRow(row);
    return { ownerId: job.ownerId, readAtMs: row.read_at_ms, view: toView(job, row) };
  });
}

/** Views of jobs, in the order of `tail`. */
export async function loadViews(db: Db | Tx, where: SQL, tail?: SQL): Promise<JobView[]> {
  return (await loadRows(db, where, tail)).map(({ view }) => view);
}

function toView(job: Job, extras: Extras): JobView {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    progress: job.progress,
    stage: job.stage,
    tier: tierOf(job.tier),
    revision: job.revision,
    attempt: job.attempt,
    engine: job.engine,
    workflow: job.workflow,
    model: job.model,
    ownOnly: job.ownOnly,
    need: job.need,
    queue: job.queue,
    node: extras.node_name,
    server: job.server === null ? null : serverLabel(job.server),
    executedBy: job.engine === "cloud" ? job.server : toExecutor(extras.node_name, job.server),
    placement: job.placement,
    estimate: job.estimate,
    charged: job.charged,
    notBefore: time(job.notBefore),
    retention: job.retention,
    params: job.params,
    template: job.template,
    error: job.errorCode ? { code: job.errorCode, message: job.errorMessage ?? "" } : null,
    cancelRequested: job.cancelRequestedAt !== null,
    retryOf: job.retryOf,
    maxRetries: job.maxRetries,
    sessionId: job.sessionId,
    metadata: job.metadata ?? {},
    requestId: job.requestId,
    inputs: extras.input_links ?? [],
    outputs: extras.output_links ?? [],
    createdAt: job.createdAt.toISOString(),
    queuedAt: time(job.queuedAt),
    claimedAt: time(job.claimedAt),
    startedAt: time(job.startedAt),
    endedAt: time(job.endedAt),
    processingMs: toProcessingMs(job),
  };
}

function toExecutor(node: string | null, server: string | null): string | null {
  return node === null || server === null ? node : `${node} @ ${serverLabel(server)}`;
}

function toProcessingMs({ engine, nodeId, startedAt, endedAt }: Job): number | null {
  if (startedAt === null || endedAt === null) return null;
  // Without a node the start belongs to an earlier attempt, unless a provider has the job.
  if (nodeId === null && engine !== "cloud") return null;
  return endedAt.getTime() - startedAt.getTime();
}

export interface JobAddress {
  readonly ownerId: string;
  readonly id: string;
}

/** One job of an owner; null where there is none, also for a job of another owner. */
export async function findJob({ db }: Services, { ownerId, id }: JobAddress): Promise<JobView | null> {
  const isOwn = sql`jobs.id = ${id} and jobs.owner_id = ${ownerId}`;
  const [job] = isId(id) ? await loadViews(db, isOwn, sql``) : [];
  return job ?? null;
}

/** As `findJob`. Throws `not_found` where there is none. */
export async function get(services: Services, address: JobAddress): Promise<JobView> {
  const job = await findJob(services, address);
  if (!job) throw new AppError("not_found");
  return job;
}

/** One job of any owner, for the operator. Throws `not_found`. */
export async function getAny({ db }: Pick<Services, "db">, id: string): Promise<JobView> {
  const [job] = isId(id) ? await loadViews(db, sql`jobs.id = ${id}`, sql``) : [];
  if (!job) throw new AppError("not_found");
  return job;
}

/** The events of a job after a revision, oldest first, without what only admins may read. */
export async function readEvents(
  services: Services,
  { id, after = 0 }: { id: string; after?: number },
): Promise<JobEventView[]> {
  const { jobEvents } = schema;
  const rows = await services.db
    .select()
    .from(jobEvents)
    .where(and(eq(jobEvents.jobId, id), gt(jobEvents.revision, after)))
    .orderBy(jobEvents.revision);
  return rows.map(({ revision, type, status, data, createdAt }) => ({
    revision,
    type,
    status,
    data: toOwnerData(data),
    at: createdAt.toISOString(),
  }));
}

/** Node ids and exception texts are for admins only; owners see the label of a server. */
function toOwnerData(all: JobEventView["data"]): JobEventView["data"] {
  const { nodeId: _nodeId, exception: _exception, ...data } = all;
  return typeof data["server"] === "string" ? { ...data, server: serverLabel(data["server"]) } : data;
}

export interface JobStory extends JobView {
  readonly events: readonly JobEventView[];
  readonly facts: Readonly<Record<string, unknown>> | null;
}

/** A job with its events and the measurements of its engine. */
export async function getStory(services: Services, address: JobAddress): Promise<JobStory> {
  const job = await get(services, address);
  const { jobs } = schema;
  const [[row], events] = await Promise.all([
    services.db.select({ facts: jobs.facts }).from(jobs).where(eq(jobs.id, job.id)),
    readEvents(services, { id: job.id }),
  ]);
  return { ...job, events, facts: row?.facts ?? null };
}

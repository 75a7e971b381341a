import { sql } from "drizzle-orm";
import {
  schema,
  type NodeCapability,
  type NodeProblem,
  type NodeSettings,
  type NodeState,
  type ServerState,
} from "../db/index.ts";
import type { EngineName, JobKind, Need } from "../engines.ts";
import { awayAfterSeconds, hasEnded, isPresent, isPresentState } from "../nodes/index.ts";
import type { Services } from "../services.ts";

export interface NodeJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly queue: string;
  /** 0..1 */
  readonly progress: number;
  /** Since the claim. */
  readonly sinceMs: number;
}

export interface ServerFigures {
  readonly url: string;
  readonly label: string;
  readonly engine: EngineName;
  readonly state: ServerState;
  readonly device: string | null;
  readonly deviceName: string | null;
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
  readonly version: string | null;
  /** Jobs in its own queue, ours and others'. */
  readonly queueLength: number;
  readonly runningJobId: string | null;
  readonly needs: readonly Need[];
  /** Missing classes and models of each workflow that the server cannot run. */
  readonly missing: Readonly<Record<string, readonly string[]>>;
  /** Needs for which its card may be too small. */
  readonly tightNeeds: readonly Need[];
  /** Model files that it lists for the workflows. */
  readonly models: readonly string[];
  readonly lastError: string | null;
  /** Null before the first probe. */
  readonly probedMs: number | null;
  /** Since it is in this state. */
  readonly changedMs: number;
  /** Drained by an admin. */
  readonly drainRequested: boolean;
}

export interface NodeFigures {
  readonly id: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly state: NodeState;
  readonly drainRequested: boolean;
  readonly retireRequested: boolean;
  /** Age of the last beat. */
  readonly seenMs: number;
  /** It did not end, yet it has not beaten for 30 s: it counts as dead until its next beat. */
  readonly isAway: boolean;
  readonly startedMs: number;
  readonly endedMs: number | null;
  readonly capability: NodeCapability;
  readonly settings: NodeSettings;
  readonly problems: readonly NodeProblem[];
  readonly processed: number;
  readonly failed: number;
  readonly queues: readonly {
    readonly queue: string;
    readonly slots: number;
    readonly used: number;
    readonly needs: readonly Need[];
  }[];
  readonly running: readonly NodeJob[];
  readonly servers: readonly ServerFigures[];
}

/** Nodes that ended longer ago are left out, and so are more than these. */
const endedWithinHours = 24;
const maxEnded = 20;

type NodeRow = Record<string, unknown> & Omit<NodeFigures, "isAway" | "queues" | "running" | "servers">;
type QueueRow = Record<string, unknown> & { nodeId: string; queue: string; slots: number; needs: Need[] };
type JobRow = Record<string, unknown> & NodeJob & { nodeId: string };
type ServerRow = Record<string, unknown> & ServerFigures & { nodeId: string };

const ageMs = (column: string) => sql.raw(`round(extract(epoch from now() - ${column}) * 1000)::float8`);

/** Live nodes and those that ended within a day, with their queues, running jobs and servers; the live ones first. */
export async function readNodes({ db }: Pick<Services, "db">): Promise<NodeFigures[]> {
  const { nodes } = schema;
  const columns = sql`n.id, n.name, n.hostname, n.pid, n.state, n.drain_requested as "drainRequested",
    n.retire_requested as "retireRequested", n.capability, n.settings, n.problems, n.processed, n.failed,
    ${ageMs("n.seen_at")} as "seenMs", ${ageMs("n.started_at")} as "startedMs", ${ageMs("n.ended_at")} as "endedMs"`;
  const [rows, queues, jobs, servers] = await Promise.all([
    db.execute<NodeRow>(sql`
      (select ${columns} from ${nodes} n where ${isPresent()} order by n.name, n.id)
      union all
      (select ${columns} from ${nodes} n where ${hasEnded()}
        and n.seen_at > now() - ${endedWithinHours} * interval '1 hour' order by n.seen_at desc limit ${maxEnded})`),
    readLiveQueues(db),
    readRunning(db),
    readServers(db),
  ]);
  return rows.map((node) => {
    const running = jobs.filter(({ nodeId }) => nodeId === node.id);
    const isLive = isPresentState(node.state);
    return {
      ...node,
      isAway: isLive && node.seenMs > awayAfterSeconds * 1_000,
      running: running.map(({ nodeId: _nodeId, ...job }) => job),
      queues: queues
        .filter(({ nodeId }) => nodeId === node.id)
        .map(({ queue, slots, needs }) => {
          const used = running.filter((job) => job.queue === queue).length;
          return { queue, slots, needs, used };
        }),
      servers: isLive
        ? servers.filter(({ nodeId }) => nodeId === node.id).map(({ nodeId: _nodeId, ...server }) => server)
        : [],
    };
  });
}

const liveNodes = sql`select id from ${schema.nodes} where ${isPresent(schema.nodes.state)}`;

async function readLiveQueues(db: Services["db"]): Promise<QueueRow[]> {
  const result = await db.execute<QueueRow>(sql`
    select node_id as "nodeId", queue, slots, needs from ${schema.nodeQueues}
    where node_id in (${liveNodes}) order by queue`);
  return result;
}

async function readRunning(db: Services["db"]): Promise<JobRow[]> {
  const result = await db.execute<JobRow>(sql`
    select node_id as "nodeId", id, kind, queue, progress, ${ageMs("claimed_at")} as "sinceMs" from ${schema.jobs}
    where status in ('waiting_for_engine', 'processing') order by claimed_at`);
  return result;
}

async function readServers(db: Services["db"]): Promise<ServerRow[]> {
  const { engineServers, serverDrains } = schema;
  const result = await db.execute<ServerRow>(sql`
    select s.node_id as "nodeId", s.url, s.label, s.engine, s.state, s.device, s.device_name as "deviceName",
      s.vram_total_bytes::float8 as "vramTotalBytes", s.vram_free_bytes::float8 as "vramFreeBytes", s.version,
      s.queue_length as "queueLength", s.running_job_id as "runningJobId", s.needs, s.missing, s.tight_needs as "tightNeeds", s.models, s.last_error as "lastError",
      ${ageMs("s.probed_at")} as "probedMs", ${ageMs("s.changed_at")} as "changedMs", d.url is not null as "drainRequested"
    from ${engineServers} s left join ${serverDrains} d on d.url = s.url
    where s.node_id in (${liveNodes}) order by s.label, s.url`);
  return result;
}

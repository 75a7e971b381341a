import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { readTurnFigures, type TurnFigures } from "../leases/index.ts";
import { botProblem, isLiveNode, spaceProblem, storeProblem } from "../nodes/index.ts";
import type { QueueNeeds } from "../platform/index.ts";
import { readSetupFaults, type SetupFault } from "../providers/index.ts";
import { lateStartMs } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import {
  type EndedFigures,
  type FigureWindow,
  readFigures,
  type Series,
  type WindowFigures,
} from "./figures.ts";
import { type NodeFigures, readNodes } from "./nodes.ts";

/** A queue as it is at this moment. */
interface QueueNow {
  readonly queue: string;
  /** Requirements of the queue for a node; null for a queue that is no longer configured. */
  readonly needs: QueueNeeds | null;
  /** Waiting time of the oldest waiting job; null when none waits. */
  readonly oldestWaitingMs: number | null;
  readonly waiting: number;
  /** Claimed by a node. */
  readonly running: number;
  /** Jobs at once of its live nodes. */
  readonly slots: number;
  readonly nodes: readonly string[];
}

type Line = Record<string, unknown> & Omit<QueueNow, "needs">;

/** Every queue of the configuration and every other queue with a node or an open job; the longest waiting job comes first. */
export async function readQueues({ db, config }: Pick<Services, "db" | "config">): Promise<QueueNow[]> {
  const { jobs, nodes, nodeQueues } = schema;
  const lines = await db.execute<Line>(sql`
    with line as (
      select queue, count(*) filter (where status in ('pending', 'queued'))::int as waiting,
        count(*) filter (where status in ('waiting_for_engine', 'processing'))::int as running,
        round(extract(epoch from now() - min(created_at) filter (where status in ('pending', 'queued'))) * 1000)::float8 as oldest
      from ${jobs} where status in ('pending', 'queued', 'waiting_for_engine', 'processing') group by queue
    ), offer as (
      select q.queue, sum(q.slots)::int as slots, array_agg(n.name order by n.name) as nodes
      from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
      where ${isLiveNode} and q.slots > 0 group by q.queue
    )
    select queue, oldest as "oldestWaitingMs", coalesce(waiting, 0) as waiting, coalesce(running, 0) as running,
      coalesce(slots, 0) as slots, coalesce(nodes, '{}') as nodes
    from line full join offer using (queue)`);
  const names = new Set([...Object.keys(config.queues), ...lines.map(({ queue }) => queue)]);
  const all = [...names].map((queue): QueueNow => ({
    ...idleQueue(queue),
    needs: config.queues[queue] ?? null,
    ...lines.find((row) => row.queue === queue),
  }));
  return all.toSorted((a, b) => (b.oldestWaitingMs ?? -1) - (a.oldestWaitingMs ?? -1));
}

/** A queue without jobs and nodes. */
const idleQueue = (queue: string): QueueNow => ({
  queue,
  needs: null,
  oldestWaitingMs: null,
  waiting: 0,
  running: 0,
  slots: 0,
  nodes: [],
});

/** A condition that needs an admin. */
export type Attention =
  | { readonly type: "no_node" }
  | { readonly type: "queue_without_node"; readonly queue: string; readonly waiting: number }
  | {
      readonly type: "node_silent" | "node_away" | "node_lost";
      readonly nodeId: string;
      readonly node: string;
      readonly ms: number;
    }
  | {
      readonly type: "server_down" | "server_degraded";
      readonly nodeId: string;
      readonly node: string;
      readonly server: string;
      readonly reason: string | null;
    }
  | {
      readonly type: "node_low_space" | "node_without_store" | "bot_unread" | "workflow_refused";
      readonly nodeId: string;
      readonly node: string;
      readonly what: string;
      readonly reason: string;
    }
  | {
      readonly type: "provider_setup";
      readonly provider: string;
      readonly model: string;
      readonly errorClass: string;
      readonly reason: string;
    }
  | {
      readonly type: "duty_failing";
      readonly duty: string;
      readonly failures: number;
      readonly reason: string;
    };

/** A node beats every second; two late beats are not reported yet. */
const silentAfterMs = 3_500;
/** A lost node is reported for this long. */
const lostWithinMs = 15 * 60_000;

const order = [
  "no_node",
  "queue_without_node",
  "node_away",
  "node_silent",
  "node_lost",
  "node_low_space",
  "node_without_store",
  "bot_unread",
  "server_down",
  "server_degraded",
  "workflow_refused",
  "provider_setup",
  "duty_failing",
] as const satisfies Attention["type"][];

interface Seen extends Pick<Services, "config"> {
  readonly queues: readonly QueueNow[];
  readonly nodes: readonly NodeFigures[];
  readonly faults: readonly SetupFault[];
  readonly duties: readonly TurnFigures[];
}

/** Conditions that need an admin. A requested drain and a busy server are none. */
function findAttention({ config, queues, nodes, faults, duties }: Seen): Attention[] {
  const ofProviders = faults.map((fault): Attention => ({ type: "provider_setup", ...fault }));
  const found = [
    ...ofNone(config, nodes),
    ...queues.flatMap((queue) => ofQueue(queue, lateStartMs(config, queue.queue))),
    ...nodes.flatMap(ofNode),
    ...ofProviders,
    ...duties.flatMap(ofDuty),
  ];
  return found.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

/** Where no node is left and none is started by itself. */
function ofNone({ queues }: Services["config"], nodes: readonly NodeFigures[]): Attention[] {
  const isAny = nodes.some(({ state }) => state === "active" || state === "draining");
  const isOnDemand = Object.values(queues).some(({ onDemand }) => onDemand !== undefined);
  return isAny || isOnDemand ? [] : [{ type: "no_node" }];
}

/** Of a queue that is started on demand: where the start takes too long. */
function ofQueue({ queue, waiting, slots, oldestWaitingMs }: QueueNow, lateMs: number): Attention[] {
  const isMissed = waiting > 0 && slots === 0 && (oldestWaitingMs ?? 0) >= lateMs;
  return isMissed ? [{ type: "queue_without_node", queue, waiting }] : [];
}

/** A duty may fail once, while the database or the store is away. */
const failuresToReport = 2;

function ofDuty({ name, failures, error }: TurnFigures): Attention[] {
  if (failures < failuresToReport) return [];
  return [{ type: "duty_failing", duty: name, failures, reason: error ?? "" }];
}

/** Problems of a node itself; all others name a workflow. */
const problemTypes: Readonly<Record<string, "node_low_space" | "node_without_store" | "bot_unread">> = {
  [spaceProblem]: "node_low_space",
  [storeProblem]: "node_without_store",
  [botProblem]: "bot_unread",
};

function ofNode(node: NodeFigures): Attention[] {
  const who = { nodeId: node.id, node: node.name };
  if (node.state === "lost") {
    const ms = node.endedMs ?? node.seenMs;
    return ms < lostWithinMs ? [{ type: "node_lost", ...who, ms }] : [];
  }
  if (node.state === "gone") return [];
  const silence = node.isAway ? "node_away" : "node_silent";
  const silent: Attention[] = node.seenMs > silentAfterMs ? [{ type: silence, ...who, ms: node.seenMs }] : [];
  // What it last reported about its servers is no longer known.
  const servers = node.isAway ? [] : node.servers.flatMap((server) => ofServer(who, server));
  const problems = node.problems.map(({ what, reason }): Attention => {
    return { type: problemTypes[what] ?? "workflow_refused", ...who, what, reason };
  });
  return [...silent, ...servers, ...problems];
}

function ofServer(
  who: { nodeId: string; node: string },
  { state, label, lastError, drainRequested }: NodeFigures["servers"][number],
): Attention[] {
  if (drainRequested || (state !== "down" && state !== "degraded")) return [];
  const type = state === "down" ? "server_down" : "server_degraded";
  return [{ type, ...who, server: label, reason: lastError }];
}

/** A queue now and over the window. */
export interface QueueFigures extends QueueNow {
  readonly lastHour: { readonly completed: number; readonly failed: number };
  readonly window: EndedFigures;
  readonly series: Series;
}

export interface Overview extends Omit<WindowFigures, "byQueue"> {
  readonly window: FigureWindow;
  readonly attention: readonly Attention[];
  readonly queues: readonly QueueFigures[];
  readonly nodes: { readonly active: number; readonly draining: number };
  /** Recurring work of the studio; what fails comes first. */
  readonly duties: readonly TurnFigures[];
}

const nothing: EndedFigures = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  waitMs: { p50: null, p95: null },
  runMs: { p50: null, p95: null },
};

export interface OverviewInput {
  readonly window: FigureWindow;
  /** The result of `readNodes`, if the caller has it already. */
  readonly nodes?: Promise<readonly NodeFigures[]>;
}

/** All that the overview and the page of queues show, in at most ten statements. */
export async function readOverview(
  services: Pick<Services, "db" | "config">,
  { window, nodes: known }: OverviewInput,
): Promise<Overview> {
  const figuresOfHour = readFigures(services.db, "1h");
  const [queues, nodes, hour, figures, faults, duties] = await Promise.all([
    readQueues(services),
    known ?? readNodes(services),
    figuresOfHour,
    window === "1h" ? figuresOfHour : readFigures(services.db, window),
    readSetupFaults(services.db),
    readTurnFigures(services),
  ]);
  const { byQueue, ...rest } = figures;
  const isListed = (name: string) => queues.some(({ queue }) => queue === name);
  const former = [...byQueue.keys()].filter((name) => !isListed(name)).map(idleQueue);
  const none = (series: Series): Series => ({
    ...series,
    completed: series.completed.map(() => 0),
    failed: series.failed.map(() => 0),
  });
  return {
    ...rest,
    window,
    attention: findAttention({ config: services.config, queues, nodes, faults, duties }),
    duties,
    nodes: {
      active: nodes.filter(({ state, isAway }) => state === "active" && !isAway).length,
      draining: nodes.filter(({ state, isAway }) => state === "draining" && !isAway).length,
    },
    queues: [...queues, ...former].map((queue) => {
      const { series, ...ended } = byQueue.get(queue.queue) ?? { ...nothing, series: none(rest.series) };
      const { completed, failed } = hour.byQueue.get(queue.queue) ?? nothing;
      return { ...queue, lastHour: { completed, failed }, window: ended, series };
    }),
  };
}

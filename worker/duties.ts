import { sweepOrphanObjects } from "@atelier/server/images";
import {
  dispatch,
  findStops,
  findOrphanedPrompts,
  handBackUnknown,
  readActivity,
  readAwaitedNeeds,
  rering,
  sweep,
  tidy,
} from "@atelier/server/jobs";
import { rollUp } from "@atelier/server/monitoring";
import {
  changeNode,
  createNodeWatch,
  type NodeQueue,
  publishRefused,
  readAdminRequests,
  type SeenServer,
} from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { ConsumeInput, Consumers } from "./claims.ts";
import { cancelPrompt, readQueuedPrompts } from "./engines/comfyui/client/index.ts";
import { jobOfRun } from "./engines/index.ts";
import type { LiveOffer, QueueOffer } from "./live-offer.ts";
import { type Activity, createActivity, type Loop, startLoop } from "./loop.ts";
import type { Incarnation } from "./presence.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";
import type { Space } from "./space.ts";

/** A queue of an offer as it is stored with the node. */
export function toNodeQueue({ queue, slots, offers }: QueueOffer): NodeQueue {
  return { queue, slots, needs: offers.map(({ need }) => need) };
}

export interface FollowInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "current" | "onChange">;
  readonly pool: Pick<ServerPool, "list" | "onChange">;
  readonly consumers: Pick<Consumers, "follow" | "claimNow">;
}

/**
 * Shows the others this node's servers and what it offers: after each change, and now and then for the freshness of what
 * is shown. What waited for a new offer is let out.
 */
export function followNode(services: Services, { incarnation, offer, pool, consumers }: FollowInput): Loop {
  let sentState = "";
  let sentServers = "";
  let sentAtMs = -Infinity;
  const publish = async (nodeId: string) => {
    const { capability, queues } = offer.current();
    const servers = pool.list().map(toSeen);
    const state = JSON.stringify([nodeId, capability, queues]);
    const seen = JSON.stringify(servers.map(({ probedAt: _probedAt, ...server }) => server));
    const isFresh = performance.now() - sentAtMs < services.config.timing.probeMs;
    // Each probe wakes this loop; when it changed nothing, the time of the probe can wait.
    if (state === sentState && seen === sentServers && isFresh) return;
    sentAtMs = performance.now();
    if (state === sentState) {
      await changeNode(services, { nodeId, servers });
      sentServers = seen;
      return;
    }
    consumers.follow();
    await changeNode(services, { nodeId, servers, offer: { capability, queues: queues.map(toNodeQueue) } });
    for (const { queue } of queues) await dispatch(services, queue);
    await rering(services, 0);
    sentState = state;
    sentServers = seen;
  };
  const loop = startLoop(services.log, "node", async () => {
    const node = incarnation.current();
    if (node) await publish(node.id);
    return services.config.timing.probeMs;
  });
  // Also when a server is given out: until then no other job could be sure of one.
  const readAssignments = () =>
    JSON.stringify(pool.list().map(({ url, isFree, jobId }) => [url, isFree, jobId]));
  let assignments = readAssignments();
  offer.onChange(() => loop.wake());
  pool.onChange(() => {
    loop.wake();
    const now = readAssignments();
    if (now !== assignments) consumers.claimNow();
    assignments = now;
  });
  return loop;
}

function toSeen(state: ServerState): SeenServer {
  const { jobId, queueLength, needs, sources, ...rest } = state;
  const { models: _models, isFree: _isFree, refusesConnections: _refuses, ...server } = rest;
  return {
    ...server,
    needs: [...needs],
    sources: [...sources],
    queueLength: queueLength ?? 0,
    runningJobId: jobId,
  };
}

interface OrdersInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "setSettings">;
  readonly pool: Pick<ServerPool, "setDrained">;
  readonly consumers: Pick<Consumers, "setActive">;
  /** A full disk lets no job in. */
  readonly space: Pick<Space, "isEnough">;
  /** An admin wants the process to end. */
  readonly onRetire: () => void;
}

interface RepublishInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "refuse">;
  readonly workflows: readonly Workflow[];
}

const republishMs = 60_000;

/** Every second: what admins want of this node (settings, drained servers, its end). */
export function startOrders(services: Services, input: OrdersInput): Loop {
  return startLoop(services.log, "orders", async () => {
    const node = input.incarnation.current();
    const orders = node && (await readAdminRequests(services, node.id));
    if (orders) {
      input.offer.setSettings(orders.settings);
      input.pool.setDrained(orders.drainedServers);
      input.consumers.setActive(orders.state === "active" && input.space.isEnough());
      if (orders.retireRequested) input.onRetire();
    }
    return services.config.timing.cancelPollMs;
  });
}

/** At each probe: which workflows open jobs wait for, so that a model that is back is found soon. */
export function startAwaiting(services: Services, pool: Pick<ServerPool, "setAwaited">): Loop {
  return startLoop(services.log, "awaited", async () => {
    pool.setAwaited(await readAwaitedNeeds(services));
    return services.config.timing.probeMs;
  });
}

/** Every minute: own workflows that another node's stood in the way of are tried again. */
export function startRepublishing(
  services: Services,
  { incarnation, offer, workflows }: RepublishInput,
): Loop {
  const own = workflows.filter(({ isBuiltIn }) => !isBuiltIn);
  return startLoop(services.log, "republish", async () => {
    const node = incarnation.current();
    if (node?.problems.some(({ what }) => own.some(({ name }) => name === what))) {
      const problems = await publishRefused(services, node.id, own);
      // Another incarnation learned of its own problems when it registered.
      if (incarnation.current()?.id === node.id) offer.refuse(problems.map(({ what }) => what));
    }
    return republishMs;
  });
}

const orphanedPromptsMs = 10_000;
const cancelMostMs = 5_000;

type Input = Pick<Services, "db" | "log">;

/** Every few seconds: whatever a server still works on for a job that is over or went elsewhere is taken off it. */
export function startOrphanedPrompts(services: Input, pool: ServerPool): Loop {
  return startLoop(services.log, "orphaned prompts", async () => {
    await cancelOrphanedPrompts(services, pool);
    return orphanedPromptsMs;
  });
}

/** Servers that work on nothing but this node's own job are not asked. */
export async function cancelOrphanedPrompts(services: Input, pool: ServerPool): Promise<void> {
  const asked = pool.list().filter(hasOthers);
  await Promise.all(
    asked.map((server) =>
      cancelOrphansOn(services, pool, server).catch((error: unknown) =>
        services.log.debug({ err: error, server: server.label }, "prompts of a server not looked through"),
      ),
    ),
  );
}

function hasOthers({ engine, state, jobId, queueLength }: ServerState): boolean {
  return engine === "comfyui" && state !== "down" && (queueLength ?? 0) > (jobId === null ? 0 : 1);
}

async function cancelOrphansOn(
  services: Input,
  pool: ServerPool,
  { url, label }: ServerState,
): Promise<void> {
  const address = pool.addressOf(url);
  if (!address) return;
  const signal = AbortSignal.timeout(cancelMostMs);
  const queued = await readQueuedPrompts(address, { signal });
  const ours = queued.flatMap((prompt) => {
    const jobId = jobOfRun(prompt);
    return jobId === null ? [] : [{ jobId, promptId: prompt.promptId }];
  });
  for (const { jobId, promptId } of await findOrphanedPrompts(services, ours)) {
    services.log.info({ server: label, jobId }, "a prompt that no job waits for is taken off");
    await cancelPrompt(address, promptId, { signal });
  }
}

const tidyMs = 60_000;
/** It lists the whole store, so it runs rarely; what it looks for is an hour old in any case. */
const orphansMs = 15 * 60_000;

type LoopsInput = Pick<ConsumeInput, "incarnation" | "runs" | "claimLock">;

/** All that a worker repeats: its watch over itself and the others, and what may be removed. */
export function startLoops(services: Services, input: LoopsInput): Loop[] {
  const tidying = startLoop(services.log, "tidy", async () => {
    await tidy(services);
    await rollUp(services);
    return tidyMs;
  });
  const orphans = startLoop(services.log, "orphans", async () => {
    await sweepOrphanObjects(services);
    return orphansMs;
  });
  return [...startWatchOver(services, input), tidying, orphans];
}

/** The worker's watch over itself and the others: lost nodes, the sweep, cancel requests. */
export function startWatchOver(services: Services, input: LoopsInput): Loop[] {
  const activity = createActivity(services.config.timing.sweepIdleAfterMs);
  const sweeping = startSweep(services, input, activity);
  const watching = startWatch(services, { activity, sweeping });
  const stops = startStops(services, input);
  services.hints.subscribe((message) => {
    if (message.type === "jobs" && activity.note()) sweeping.wake();
    if (message.type === "cancel") stops.wake();
  });
  return [watching, sweeping, stops];
}

/** Every second: lost nodes, and work that nobody rang for while the sweep was resting. */
function startWatch(
  services: Services,
  { activity, sweeping }: { activity: Activity; sweeping: Loop },
): Loop {
  const watch = createNodeWatch();
  return startLoop(services.log, "watch", async () => {
    const lost = await watch.read(services);
    const { open, claimed } = await readActivity(services);
    const hasWork = open || claimed;
    if (lost.length > 0 || (hasWork && activity.note())) sweeping.wake();
    return services.config.timing.watchMs;
  });
}

function startSweep(services: Services, { incarnation, runs, claimLock }: LoopsInput, activity: Activity) {
  const { timing } = services.config;
  let sweptNodeId: string | null = null;
  return startLoop(services.log, "sweep", async () => {
    const node = await claimLock(async () => {
      const current = incarnation.current();
      const running = runs.leases().map((lease) => lease.jobId);
      if (current) await handBackUnknown(services, { nodeId: current.id, running });
      return current;
    });
    await sweep(services);
    // A predecessor may have died with the bells in its hands: a new node need not wait until they are old.
    if (node && node.id !== sweptNodeId) await rering(services, 0);
    sweptNodeId = node?.id ?? null;
    const jitter = 0.9 + Math.random() * 0.2;
    return (activity.isIdle() ? timing.sweepIdleMs : timing.sweepMs) * jitter;
  });
}

function startStops(services: Services, { runs }: LoopsInput): Loop {
  return startLoop(services.log, "stops", async () => {
    const { cancelled, lost } = await findStops(services, runs.leases());
    for (const lease of cancelled) runs.stop(lease, "cancelled");
    for (const lease of lost) runs.stop(lease, "lost");
    return services.config.timing.cancelPollMs;
  });
}

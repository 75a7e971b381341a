import { pruneDeliveries } from "@atelier/server/deliveries";
import { sweepOrphansInTurn } from "@atelier/server/images";
import {
  dispatch,
  findStops,
  findOrphanedPrompts,
  handBackUnknown,
  readActivity,
  readAwaitedNeeds,
  rering,
  sweep,
  createTidying,
} from "@atelier/server/jobs";
import { rollUp } from "@atelier/server/monitoring";
import {
  changeNode,
  createNodeWatch,
  type NodeQueue,
  publishRefused,
  readAdminRequests,
} from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { sweepTempFolders, tempFolderMs } from "@atelier/server/storage";
import { purgeDeleted } from "@atelier/server/users";
import type { Workflow } from "@atelier/server/workflows";
import type { ConsumeInput, Consumers } from "./claims.ts";
import { cancelPrompt, readQueuedPrompts } from "./engines/comfyui/client/index.ts";
import { jobOfRun } from "./engines/index.ts";
import { type LiveOffer, type QueueOffer, toSeen } from "./live-offer.ts";
import { type Activity, createActivity, type Loop, startLoop } from "./loop.ts";
import type { Incarnation } from "./presence.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";
import type { Readiness } from "./readiness.ts";

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
 * Stores the node's servers and its offer: after each change, and every `probeMs` so that the times of the probes stay
 * fresh. A changed offer also joins its queues and dispatches the jobs that waited for it.
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
    // Each probe wakes this loop. When only the time of the probe changed, it is stored later.
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
  // Also after an acquire: until a run has its server, `freeOffers` holds back one that the run may take.
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

interface AdminRequestsInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "setSettings">;
  readonly pool: Pick<ServerPool, "setDrained">;
  readonly consumers: Pick<Consumers, "setActive">;
  /** With a full disk or without the image store the node claims nothing. */
  readonly readiness: Pick<Readiness, "isReady">;
  /** An admin requested the stop: the process finishes its jobs and ends. */
  readonly onRetire: () => void;
}

interface RepublishInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "refuse">;
  readonly workflows: readonly Workflow[];
}

const republishMs = 60_000;

/** Applies what admins request of this node, every second: settings, drained servers, the stop. */
export function startAdminRequests(services: Services, input: AdminRequestsInput): Loop {
  return startLoop(services.log, "admin requests", async () => {
    const node = input.incarnation.current();
    const requests = node && (await readAdminRequests(services, node.id));
    if (requests) {
      input.offer.setSettings(requests.settings);
      input.pool.setDrained(requests.drainedServers);
      input.consumers.setActive(requests.state === "active" && input.readiness.isReady());
      if (requests.retireRequested) input.onRetire();
    }
    return services.config.timing.cancelPollMs;
  });
}

/** Reports to the pool what open jobs wait for, so that its probes soon find a model that was added. */
export function startAwaiting(services: Services, pool: Pick<ServerPool, "setAwaited">): Loop {
  return startLoop(services.log, "awaited", async () => {
    pool.setAwaited(await readAwaitedNeeds(services));
    return services.config.timing.probeMs;
  });
}

/** Publishes own workflows again, every minute, that were refused because another node had published other content. */
export function startRepublishing(
  services: Services,
  { incarnation, offer, workflows }: RepublishInput,
): Loop {
  const own = workflows.filter(({ isBuiltIn }) => !isBuiltIn);
  return startLoop(services.log, "republish", async () => {
    const node = incarnation.current();
    if (node?.problems.some(({ what }) => own.some(({ name }) => name === what))) {
      const problems = await publishRefused(services, node.id, own);
      // A new incarnation got its own problems when it registered.
      if (incarnation.current()?.id === node.id) offer.refuse(problems.map(({ what }) => what));
    }
    return republishMs;
  });
}

const orphanedPromptsMs = 10_000;
const cancelMostMs = 5_000;

type Input = Pick<Services, "db" | "log">;

/** Cancels, every few seconds, prompts on ComfyUI servers whose job is over or runs elsewhere. */
export function startOrphanedPrompts(services: Input, pool: ServerPool): Loop {
  return startLoop(services.log, "orphaned prompts", async () => {
    await cancelOrphanedPrompts(services, pool);
    return orphanedPromptsMs;
  });
}

/** One pass over all servers that have more prompts than this node's own job. */
export async function cancelOrphanedPrompts(services: Input, pool: ServerPool): Promise<void> {
  const asked = pool.list().filter(hasOthers);
  await Promise.all(
    asked.map((server) =>
      cancelOrphansOn(services, pool, server).catch((error: unknown) =>
        services.log.debug({ err: error, server: server.label }, "prompts of a server not read"),
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
    services.log.info({ server: label, jobId }, "orphaned prompt cancelled");
    await cancelPrompt(address, promptId, { signal });
  }
}

const tidyMs = 60_000;
/** How often temporary folders are swept and the turn for the sweep of the store is asked for. */
const orphansMs = 15 * 60_000;

type LoopsInput = Pick<ConsumeInput, "incarnation" | "runs" | "claimLock"> & {
  /** Claims without a bell. A `--once` worker, which takes one job only, has none. */
  readonly claimNow?: Consumers["claimNow"];
};

/** The loops of every long-lived worker: those of `startWatchOver`, and the clean-up of rows and objects. */
export function startLoops(services: Services, input: LoopsInput): Loop[] {
  const tidying = startLoop(
    services.log,
    "tidy",
    createTidying(services, [
      { name: "deliveries", everyMs: tidyMs, run: pruneDeliveries },
      { name: "deleted users", everyMs: tidyMs, run: purgeDeleted },
      { name: "figures", everyMs: tidyMs, run: rollUp },
    ]),
  );
  const orphans = startLoop(services.log, "orphans", async () => {
    await sweepTempFolders(services.env, tempFolderMs(services.config));
    await sweepOrphansInTurn(services);
    return orphansMs;
  });
  return [...startWatchOver(services, input), tidying, orphans];
}

/** The loops that also a `--once` worker needs: lost nodes, the sweep, cancel requests. */
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

/** Every `watchMs`: finds lost nodes, and wakes an idle sweep when there is work. */
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

function startSweep(services: Services, input: LoopsInput, activity: Activity) {
  const { incarnation, runs, claimLock, claimNow } = input;
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
    // A predecessor may have died with taken bells: ring again now instead of waiting until they are old.
    if (node && node.id !== sweptNodeId) await rering(services, 0);
    sweptNodeId = node?.id ?? null;
    // Also without a bell: after a fault the connection that bells arrive on may take longer to come back than this one.
    if (!activity.isIdle()) claimNow?.();
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

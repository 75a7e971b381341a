import { dispatch, rering } from "@atelier/server/jobs";
import { changeNode, publishRefused, readAdminRequests } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { Consumers } from "./claims.ts";
import { type LiveOffer, toSeen } from "./live-offer.ts";
import { toNodeQueue } from "./offer.ts";
import { type Loop, startLoop } from "./base/loop.ts";
import type { Incarnation } from "./base/index.ts";
import type { Readiness } from "./readiness.ts";
import type { ServerPool } from "./servers/index.ts";

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
  /** Of the operator's folder. */
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

/** Publishes own workflows again, every minute, that were refused because another node had published other content. */
export function startRepublishing(
  services: Services,
  { incarnation, offer, workflows: own }: RepublishInput,
): Loop {
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

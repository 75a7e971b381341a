import { dispatch, rering } from "@atelier/server/jobs";
import { changeNode, type SeenServer } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Consumers } from "./claims.ts";
import type { Incarnation } from "./presence.ts";
import { startLoop, type Loop } from "./loop.ts";
import type { LiveOffer } from "./offer/index.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";
import { toNodeQueue } from "./to-node-queue.ts";

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
  let told = "";
  let toldServers = "";
  let toldAtMs = -Infinity;
  const tell = async (nodeId: string) => {
    const { capability, queues } = offer.current();
    const servers = pool.list().map(toSeen);
    const state = JSON.stringify([nodeId, capability, queues]);
    const seen = JSON.stringify(servers.map(({ probedAt: _probedAt, ...server }) => server));
    const isFresh = performance.now() - toldAtMs < services.config.timing.probeMs;
    // Each probe wakes this loop; when it changed nothing, the time of the probe can wait.
    if (state === told && seen === toldServers && isFresh) return;
    toldAtMs = performance.now();
    if (state === told) {
      await changeNode(services, { nodeId, servers });
      toldServers = seen;
      return;
    }
    consumers.follow();
    await changeNode(services, { nodeId, servers, offer: { capability, queues: queues.map(toNodeQueue) } });
    for (const { queue } of queues) await dispatch(services, queue);
    await rering(services, 0);
    told = state;
    toldServers = seen;
  };
  const loop = startLoop(services.log, "node", async () => {
    const node = incarnation.current();
    if (node) await tell(node.id);
    return services.config.timing.probeMs;
  });
  // Also when a server is given out: until then no other job could be sure of one.
  const readPlaces = () => JSON.stringify(pool.list().map(({ url, isFree, jobId }) => [url, isFree, jobId]));
  let places = readPlaces();
  offer.onChange(() => loop.wake());
  pool.onChange(() => {
    loop.wake();
    const now = readPlaces();
    if (now !== places) consumers.claimNow();
    places = now;
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

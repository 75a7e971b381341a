import { writeServers, type SeenServer } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Consumers } from "./consume.ts";
import type { Incarnation } from "./incarnation.ts";
import { startLoop, type Loop } from "./loop.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";

/** Shows the others the servers of this node: after each change, and now and then for the freshness of what is shown. */
export function followServers(
  services: Services,
  { incarnation, pool, consumers }: { incarnation: Incarnation; pool: ServerPool; consumers: Consumers },
): Loop {
  const loop = startLoop(services.log, "servers", async () => {
    const node = incarnation.current();
    if (node) await writeServers(services, { nodeId: node.id, servers: pool.list().map(toSeen) });
    return services.config.timing.probeMs;
  });
  // Also when one is given out: until then no other job could be sure of a server.
  const readPlaces = () => JSON.stringify(pool.list().map(({ url, isFree, jobId }) => [url, isFree, jobId]));
  let places = readPlaces();
  pool.onChange(() => {
    loop.wake();
    const now = readPlaces();
    if (now !== places) consumers.claimNow();
    places = now;
  });
  return loop;
}

function toSeen(state: ServerState): SeenServer {
  const { models: _models, isFree: _isFree, jobId, queueLength, needs, sources, ...server } = state;
  return {
    ...server,
    needs: [...needs],
    sources: [...sources],
    queueLength: queueLength ?? 0,
    runningJobId: jobId,
  };
}

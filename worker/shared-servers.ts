import {
  endServerLease,
  newServerClaim,
  readServerLeases,
  takeServer,
  type SeenLease,
  type ServerClaim,
  type ServerRunEnd,
} from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { ServerLease } from "./engines/index.ts";
import { startLoop, type Loop } from "./base/loop.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";

/** The servers that all workers share, one run at a time; the leases of this process on them. */
export interface SharedServers {
  /** Null while another worker uses the server, or while a lost run may still be running there. */
  take(claim: Omit<ServerClaim, "token">): Promise<ServerLease | null>;
  /** Reports to the pool, every second and at each hint, which servers other workers use. */
  follow(pool: LeasedPool, incarnation: NodeSource): Loop;
}

/** The current node of the process. */
interface NodeSource {
  current(): { readonly id: string } | null;
}

type LeasedPool = Pick<ServerPool, "list" | "setTaken">;

interface State {
  readonly services: Services;
  /** Leases of this process by token; `end` is set until the database has it. */
  readonly held: Map<string, { readonly claim: ServerClaim; end: ServerRunEnd | null }>;
}

export function createSharedServers(services: Services): SharedServers {
  const state: State = { services, held: new Map() };
  return {
    take: (claim) => take(state, newServerClaim(claim)),
    follow(pool, incarnation) {
      const loop = startLoop(services.log, "server leases", async () => {
        await storeEnds(state);
        await look(state, { pool, nodeId: incarnation.current()?.id ?? null });
        return services.config.timing.cancelPollMs;
      });
      services.hints.subscribe((message) => message.type === "server" && loop.wake());
      return loop;
    },
  };
}

async function take(state: State, claim: ServerClaim): Promise<ServerLease | null> {
  const { services, held } = state;
  // Noted first: the loop ends leases of this node that are not in `held`, such as one whose answer was lost.
  held.set(claim.token, { claim, end: null });
  const taken = await takeServer(services, claim).catch((error: unknown) => {
    held.delete(claim.token);
    throw error;
  });
  if (!taken) {
    held.delete(claim.token);
    return null;
  }
  services.hints.publish({ type: "server", url: claim.url });
  return {
    mayBeBusy: taken.mayBeBusy,
    async end(how) {
      held.set(claim.token, { claim, end: how });
      await storeEnds(state).catch((error: unknown) => {
        services.log.warn(
          { err: error, server: claim.url },
          "end of a server lease not stored, trying again",
        );
      });
    },
  };
}

async function storeEnds({ services, held }: State): Promise<void> {
  for (const [token, { claim, end }] of held) {
    if (end === null) continue;
    await endServerLease(services, claim, end);
    held.delete(token);
    services.hints.publish({ type: "server", url: claim.url });
  }
}

interface Look {
  readonly pool: LeasedPool;
  readonly nodeId: string | null;
}

async function look({ services, held }: State, { pool, nodeId }: Look): Promise<void> {
  const servers = pool.list().filter(({ engine }) => engine === "iopaint");
  const leases = await readServerLeases(
    services,
    servers.map(({ url }) => url),
  );
  const isVoid = (lease: SeenLease) =>
    (lease.nodeId === nodeId && !lease.isLost && !held.has(lease.token)) || hasEnded(servers, lease);
  for (const lease of leases.filter(isVoid)) await endServerLease(services, lease, "over");
  const others = leases.filter((lease) => !isVoid(lease) && !held.has(lease.token));
  pool.setTaken(new Set(others.map(({ url }) => url)));
}

/** A lost run has ended when its server has ended: no process listens at the address. */
function hasEnded(servers: readonly ServerState[], { url, isLost }: SeenLease): boolean {
  return isLost && servers.some((server) => server.url === url && server.refusesConnections);
}

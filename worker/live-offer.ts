import type { NodeSettings } from "@atelier/server/db";
import { cloudQueue, type Need } from "@atelier/server/engines";
import type { Offer } from "@atelier/server/jobs";
import { keptListed, type SeenServer } from "@atelier/server/nodes";
import type { Workflow } from "@atelier/server/workflows";
import type { ProviderRoom } from "./cloud/index.ts";
import { computeOffer, type NodeOffer, type OfferInput } from "./offer.ts";
import type { Runs } from "./runs.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";

/** The current offer of the node, computed again at each change of its servers or of an admin's settings. */
export interface LiveOffer {
  current(): NodeOffer;
  /** What a claim on the queue may take now: needs whose engine, servers or providers are free. */
  freeOffers(queue: string): readonly Offer[];
  /** What a claim on the queue may take once no run of the node is left. */
  offers(queue: string): readonly Offer[];
  /** Addresses of the node's servers that do not serve the need on this queue, such as those of the other hardware class. */
  otherServers(queue: string, need: Need): readonly string[];
  /** Settings that an admin made for the node. */
  setSettings(settings: NodeSettings): void;
  /** Names of own workflows that are refused, because another node publishes other content under the name. */
  refuse(workflows: readonly string[]): void;
  /** Calls the listener after each change of `current`. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void;
  close(): void;
}

export interface LiveOfferInput extends Omit<OfferInput, "servers" | "settings"> {
  readonly pool: Pick<ServerPool, "list" | "mustLoad" | "onChange">;
  readonly runs: Pick<Runs, "countOfEngine" | "unbegun">;
  /** Whether a provider can take a job with this need now. */
  readonly hasRoom: ProviderRoom["hasRoom"];
}

export function createLiveOffer({ pool, runs, hasRoom, ...fixed }: LiveOfferInput): LiveOffer {
  const listeners = new Set<() => void>();
  let settings: NodeSettings = {};
  let refused: readonly string[] = [];
  let offer = compute();

  function compute(): NodeOffer {
    let kept: readonly Workflow[] | null = null;
    return computeOffer({
      ...fixed,
      workflows: () =>
        (kept ??= fixed.workflows().filter(({ name, isBuiltIn }) => isBuiltIn || !refused.includes(name))),
      servers: pool.list(),
      settings,
    });
  }
  function refresh(): void {
    const next = compute();
    if (JSON.stringify(next) === JSON.stringify(offer)) return;
    offer = next;
    for (const listener of listeners) listener();
  }
  const offersOf = (queue: string) => offer.queues.find((own) => own.queue === queue)?.offers ?? [];
  /** For each claimed run that has no server yet: the free servers that it may still acquire. */
  function readClaims(free: ReadonlySet<string>): readonly (readonly string[])[] {
    const served = new Set(pool.list().map(({ jobId }) => jobId));
    const unserved = runs.unbegun().filter(({ lease }) => !served.has(lease.jobId));
    return unserved.map(({ queue, need }) => {
      const servers = offersOf(queue).find((one) => one.need === need)?.servers ?? [];
      return servers.filter((url) => free.has(url));
    });
  }
  const withLoad = (one: Offer, servers: readonly string[]): Offer =>
    pool.mustLoad(one.need, servers) ? { ...one, servers, mustLoad: true } : { ...one, servers };
  const unsubscribe = pool.onChange(refresh);
  return {
    current: () => offer,
    freeOffers(queue) {
      // The model of the gate may be gone since.
      refresh();
      const free = new Set(pool.list().flatMap(({ isFree, url }) => (isFree ? [url] : [])));
      const claims = readClaims(free);
      const isLocalFree = runs.countOfEngine("local") < offer.localSlots;
      return offersOf(queue).flatMap((one): Offer[] => {
        if (queue === cloudQueue) return hasRoom(one.need) ? [one] : [];
        if (one.servers === null) return isLocalFree ? [one] : [];
        const servers = one.servers.filter((url) => free.has(url));
        const rivals = claims.filter((claim) => claim.some((url) => servers.includes(url)));
        return servers.length > rivals.length ? [withLoad(one, servers)] : [];
      });
    },
    offers: (queue) =>
      offersOf(queue).map((one) => (one.servers === null ? one : withLoad(one, one.servers))),
    otherServers(queue, need) {
      const servers = offersOf(queue).find((one) => one.need === need)?.servers ?? [];
      return pool.list().flatMap(({ url }) => (servers.includes(url) ? [] : [url]));
    },
    setSettings(next) {
      settings = next;
      refresh();
    },
    refuse(workflows) {
      refused = workflows;
      refresh();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: unsubscribe,
  };
}

/** Of a server with more files the first are stored. */
const maxModels = 1_000;

/** A server of the pool as its row holds it. */
export function toSeen(state: ServerState): SeenServer {
  const { jobId, queueLength, needs, sources, ...rest } = state;
  const {
    models,
    loras,
    lists,
    tightNeeds,
    choices: _choices,
    ranges: _ranges,
    loadedNeeds: _loadedNeeds,
    isFree: _isFree,
    refusesConnections: _refuses,
    ...server
  } = rest;
  return {
    ...server,
    needs: [...needs],
    tightNeeds: [...tightNeeds],
    models: models.slice(0, maxModels),
    loras: loras.slice(0, keptListed),
    lists: Object.fromEntries(Object.entries(lists).map(([place, own]) => [place, own.slice(0, keptListed)])),
    sources: [...sources],
    queueLength: queueLength ?? 0,
    runningJobId: jobId,
  };
}

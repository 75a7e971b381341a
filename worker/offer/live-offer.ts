import type { NodeSettings } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import type { Offer } from "@atelier/server/jobs";
import type { ServerPool } from "../servers/index.ts";
import { computeOffer, type NodeOffer, type OfferInput } from "./compute-offer.ts";

/** What the node offers, kept up to date with its servers and with what an admin changes. */
export interface LiveOffer {
  current(): NodeOffer;
  /** What a claim on the queue may take at this moment: needs whose engine or servers are free. */
  freeOffers(queue: string): readonly Offer[];
  /** Addresses of the node's servers that do not serve the need on this queue: its other class of hardware. */
  otherServers(queue: string, need: Need): readonly string[];
  /** What an admin set. */
  setSettings(settings: NodeSettings): void;
  /** Names of own workflows that another node publishes with another content. */
  refuse(workflows: readonly string[]): void;
  /** Called after a change of `current`. Returns how to unsubscribe. */
  onChange(listener: () => void): () => void;
  close(): void;
}

export interface LiveOfferInput extends Omit<OfferInput, "servers" | "settings"> {
  readonly pool: ServerPool;
  /** Runs of the engine of this computer under way. */
  readonly localRuns: () => number;
}

export function createLiveOffer({ pool, localRuns, ...fixed }: LiveOfferInput): LiveOffer {
  const listeners = new Set<() => void>();
  let settings: NodeSettings = {};
  let refused: readonly string[] = [];
  let offer = compute();

  function compute(): NodeOffer {
    return computeOffer({
      ...fixed,
      workflows: fixed.workflows.filter(({ name, isBuiltIn }) => isBuiltIn || !refused.includes(name)),
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
  const unsubscribe = pool.onChange(refresh);
  return {
    current: () => offer,
    freeOffers(queue) {
      const own = offer.queues.find((candidate) => candidate.queue === queue)?.offers ?? [];
      const busy = new Set(pool.list().flatMap(({ url, jobId }) => (jobId === null ? [] : [url])));
      const isLocalFree = localRuns() < offer.localSlots;
      return own.flatMap((one): Offer[] => {
        if (one.servers === null) return isLocalFree ? [one] : [];
        const servers = one.servers.filter((url) => !busy.has(url));
        return servers.length > 0 ? [{ need: one.need, servers }] : [];
      });
    },
    otherServers(queue, need) {
      const own = offer.queues.find((candidate) => candidate.queue === queue)?.offers ?? [];
      const servers = own.find((one) => one.need === need)?.servers ?? [];
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

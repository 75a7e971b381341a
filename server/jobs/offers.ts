import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { Config } from "../platform/index.ts";

/*
 * Which row of the window a claim takes. A card that has the model of a row loaded begins at once, any other loads it first, for 2
 * to 60 s. So a row whose model the claiming node would have to load counts as queued `loadedFirstMs` later than it was: rows that
 * entered the window within that time may be claimed before it, and no others, so no row waits without end. What other nodes
 * have loaded plays no part: a node that is free and can run a row takes one.
 */

/** A need that a node can serve now. */
export interface Offer {
  readonly need: Need;
  /** Addresses of the servers that can serve it; null for the local engine, which needs no server. */
  readonly servers: readonly string[] | null;
  /** The server that the node would choose of these has to load its models first; false by default. */
  readonly mustLoad?: boolean;
}

export interface QueueOffers {
  readonly queue: string;
  readonly offers: readonly Offer[];
}

/** SQL condition: the row's engine is in the worker itself, so its run begins with the claim. */
export function needsNoServer(offers: readonly Offer[]): SQL {
  const needs = offers.filter(({ servers }) => servers === null).map(({ need }) => need);
  return needs.length > 0 ? sql`need in ${needs}` : sql`false`;
}

/** SQL condition: one of the offers can run row `j`, with at least one server that the job does not avoid. */
export function isOffered(offers: readonly Offer[]): SQL {
  const without = offers.filter(({ servers }) => servers === null).map(({ need }) => need);
  const withServers = offers
    .filter(({ servers }) => servers !== null)
    .map(({ need, servers }) => ({ need, servers }));
  const plain = without.length > 0 ? sql`j.need in ${without}` : sql`false`;
  if (withServers.length === 0) return plain;
  return sql`(${plain} or exists (
    select 1 from jsonb_to_recordset(${JSON.stringify(withServers)}::jsonb) as o(need text, servers text[])
    where o.need = j.need and not o.servers <@ j.avoid))`;
}

/** SQL query for the next row of a queue that the offers can run. */
export function headOf({ queue, offers }: QueueOffers, timing: Config["timing"]): SQL {
  return sql`select j.id, j.run_alone, j.charged, j.queued_at from ${schema.jobs} j
    where j.queue = ${queue} and j.status = 'queued' and ${isOffered(offers)}
    order by ${inClaimOrder(offers, timing)} limit 1`;
}

/** SQL order of rows `j` of the window for a node with these offers. */
export function inClaimOrder(offers: readonly Offer[], { loadedFirstMs }: Config["timing"]): SQL {
  const unloaded = offers.filter(({ mustLoad }) => mustLoad === true).map(({ need }) => need);
  const queuedAt =
    unloaded.length === 0 || unloaded.length === offers.length
      ? sql`j.queued_at`
      : sql`j.queued_at + case when j.need in ${unloaded} then ${loadedFirstMs} else 0 end * interval '1 millisecond'`;
  return sql`j.tier desc, is_resumed(j) desc, ${queuedAt}, j.id`;
}

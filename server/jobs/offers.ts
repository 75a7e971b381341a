import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { isLiveNode } from "../nodes/index.ts";
import type { Config } from "../platform/index.ts";
import type { Services } from "../services.ts";

/*
 * Which row of the window a claim takes. A card that holds the model of a row begins at once, any other loads it first, for 2 to
 * 60 s. So a row whose model the claiming node would have to load counts as queued `loadedFirstMs` later than it was: rows that
 * entered the window within that time may be claimed before it, and no others, so no row waits without end. A row that has
 * just entered is left to a node that holds its model and is free, for two seconds at most.
 */

/** A need that a node can serve now. */
export interface Offer {
  readonly need: Need;
  /** Addresses of the servers that can serve it; null for the local engine, which needs no server. */
  readonly servers: readonly string[] | null;
  /** None of these servers has its models loaded; false by default. */
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

const unloadedNeeds = (offers: readonly Offer[]) =>
  offers.filter(({ mustLoad }) => mustLoad === true).map(({ need }) => need);

/** SQL order of rows `j` of the window for a node with these offers. */
export function inClaimOrder(offers: readonly Offer[], { loadedFirstMs }: Config["timing"]): SQL {
  const unloaded = unloadedNeeds(offers);
  const queuedAt =
    unloaded.length === 0 || unloaded.length === offers.length
      ? sql`j.queued_at`
      : sql`j.queued_at + case when j.need in ${unloaded} then ${loadedFirstMs} else 0 end * interval '1 millisecond'`;
  return sql`j.tier desc, is_resumed(j) desc, ${queuedAt}, j.id`;
}

/** So long a row that has just entered the window is left to a free node that has its model loaded. */
const mostLeftMs = 2_000;

interface Claimant extends QueueOffers {
  readonly nodeId: string;
}

/** SQL for rows `j` that a node leaves to others: which others. */
function holdersOf({ nodeId, queue, offers }: Claimant, { loadedFirstMs }: Config["timing"]): SQL {
  const { engineServers, jobs, nodeQueues, nodes } = schema;
  return sql`from ${engineServers} s
    join ${nodes} n on n.id = s.node_id and ${isLiveNode}
    join ${nodeQueues} q on q.node_id = n.id and q.queue = ${queue}
    where j.need in ${unloadedNeeds(offers)} and j.attempt = 0
      and j.queued_at > clock_timestamp() - ${leftMs(loadedFirstMs)} * interval '1 millisecond'
      and j.need = any(s.loaded_needs) and s.node_id <> ${nodeId} and j.need = any(q.needs)
      and s.state = 'healthy' and s.running_job_id is null and s.url <> all(j.avoid)
      and q.slots > (select count(*) from ${jobs} r
        where r.node_id = n.id and r.queue = ${queue} and r.status in ('waiting_for_engine', 'processing'))`;
}

const leftMs = (loadedFirstMs: number) => Math.min(mostLeftMs, loadedFirstMs);

/** SQL condition: row `j` is left to another node, which has its model loaded and is free. */
export function isLeft(claimant: Claimant, timing: Config["timing"]): SQL {
  if (unloadedNeeds(claimant.offers).length === 0) return sql`false`;
  return sql`exists (select 1 ${holdersOf(claimant, timing)})`;
}

/**
 * After a claim that found nothing: tells the nodes for which rows were left. Returns in how many ms they are left no longer;
 * null when none were.
 */
export async function callHolders(services: Services, claimant: Claimant): Promise<number | null> {
  const { db, hints, config } = services;
  const { queue, offers } = claimant;
  if (unloadedNeeds(offers).length === 0) return null;
  const ms = leftMs(config.timing.loadedFirstMs);
  const [left] = await db.execute<{ nodeIds: string[]; passedMs: number }>(sql`
    select array_agg(distinct s.node_id) as "nodeIds",
      max(extract(epoch from clock_timestamp() - j.queued_at) * 1000)::float8 as "passedMs"
    from ${schema.jobs} j cross join lateral (select s.node_id ${holdersOf(claimant, config.timing)}) s
    where j.queue = ${queue} and j.status = 'queued'`);
  if (!left?.nodeIds) return null;
  hints.publish({ type: "loaded", queue, nodeIds: left.nodeIds });
  return Math.max(0, ms - left.passedMs);
}

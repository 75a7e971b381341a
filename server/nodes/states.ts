import { type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { type NodeState, schema } from "../db/index.ts";

/** States of a process that has not ended: it holds its jobs and server leases. */
const presentStates: readonly NodeState[] = ["active", "draining"];

export const isPresentState = (state: NodeState): boolean => presentStates.includes(state);

const stateOfN = sql`n.state`;

/** SQL condition on the state of a node, of `nodes n` unless told otherwise: its process has not ended. */
export const isPresent = (state: SQLWrapper = stateOfN): SQL => sql`${state} in ('active', 'draining')`;

/** SQL condition as `isPresent`: it may take jobs. */
export const isActive = (state: SQLWrapper = stateOfN): SQL => sql`${state} = 'active'`;

/** SQL condition as `isPresent`: its process has ended, in order or not. */
export const hasEnded = (state: SQLWrapper = stateOfN): SQL => sql`${state} in ('lost', 'gone')`;

/** SQL condition: the node of this column has ended or never was, so what it holds is free. True for null. */
export const isOrphaned = (nodeId: SQLWrapper): SQL =>
  sql`not exists (select from ${schema.nodes} n where n.id = ${nodeId} and ${isPresent()})`;

/** A node without a beat for longer is away. A beat comes each second. */
export const awayAfterSeconds = 30;

/**
 * SQL condition on `nodes n`: it has beaten lately, else it is away. It shows the death of the last worker, which no
 * watch sees, since only workers watch. A beat writes `seen_at` as `now()` of the database, and the database compares:
 * one clock, so the clocks of machines do not matter, and no memory, so a web process that has just started or was
 * frozen for minutes judges like any other. The price: after a pause of the database of more than 30 s every node is
 * away until its next beat, a second or two later. So it only informs and places new jobs, and never changes a row.
 */
const hasBeaten = sql`n.seen_at > now() - make_interval(secs => ${awayAfterSeconds})`;

/** SQL condition on `nodes n`: the process runs, be it for its last jobs only. */
export const isConnectedNode = sql`(${isPresent()} and ${hasBeaten})`;

/** SQL condition on `nodes n`: it takes jobs now. */
export const isLiveNode = sql`(${isActive()} and ${hasBeaten})`;

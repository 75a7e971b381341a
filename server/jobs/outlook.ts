import { tiers } from "../db/index.ts";
import { knownWorkflows, place, readWaits, type Placed, type Wait } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { candidatesOf } from "./candidates-of.ts";
import type { SubmitRequest } from "./request.ts";

/** Where a request would go now, and what stands before it there. */
export interface Outlook {
  readonly placed: Placed;
  readonly wait: Wait;
}

/** Reads only, so it runs before a submit's transaction. Throws `no_engine`, `workflow_unknown`, `workflow_params`. */
export async function readOutlook(
  { db, config }: Pick<Services, "db" | "config">,
  request: SubmitRequest,
  ownerId: string,
): Promise<Outlook> {
  const candidates = candidatesOf(request, await knownWorkflows(db, request.workflow));
  const placed = await place(db, config, { kind: request.kind, candidates });
  const { queue, candidate } = placed;
  const tier = tiers[request.tier];
  const target = { need: candidate.need, ownerId, tier, ownerOrder: null, isQueued: false };
  const [wait] = await readWaits(db, queue, [target]);
  if (!wait) throw new Error("no wait for the one target");
  return { placed, wait };
}

import { tiers, type Estimate } from "../db/index.ts";
import { needOf, type EngineName } from "../engines/index.ts";
import { toAppError } from "../platform/index.ts";
import { knownWorkflows, place, readEstimate } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { candidatesOf } from "./candidates-of.ts";
import { loadInputs } from "./load-inputs.ts";
import { parseSubmit } from "./parse-submit.ts";
import { settleParams } from "./settle-params.ts";
import { sizeClassOfRun } from "./size-class-of-run.ts";
import type { Submitter } from "./submit.ts";

/** What would become of a request now. */
export type EstimateAnswer =
  | (Estimate & {
      readonly isPossible: true;
      readonly reason: null;
      readonly engine: EngineName;
      readonly workflow: string | null;
      readonly queue: string;
      /** False when it would wait for a node or server to come back. */
      readonly isLive: boolean;
    })
  | { readonly isPossible: false; readonly reason: string };

/** Whether a request can run, where, and in which ranges it waits and runs; stores nothing. Throws `bad_request`, `not_found`. */
export async function estimate(
  services: Services,
  input: unknown,
  submitter: Submitter,
): Promise<EstimateAnswer> {
  const request = parseSubmit(input);
  const { kind } = request;
  const ownerId = submitter.userId;
  const candidates = candidatesOf(request, await knownWorkflows(services.db, request.workflow));
  return services.db.transaction(async (tx) => {
    const inputs = await loadInputs(tx, ownerId, request);
    const placed = await place(tx, services.config, { kind, candidates }).catch(refusal);
    if ("isPossible" in placed) return placed;
    const { candidate, queue, placement } = placed;
    const name = candidate.workflow?.name ?? null;
    const need = needOf({ engine: candidate.engine, kind, workflow: name });
    const sizeClass = sizeClassOfRun(kind, settleParams(request, candidate.workflow), inputs);
    const target = { queue, need, sizeClass, ownerId, tier: tiers.normal, ownerOrder: null, isQueued: false };
    const expected = await readEstimate(tx, target);
    const { isLive } = placement;
    return {
      isPossible: true,
      reason: null,
      engine: candidate.engine,
      workflow: name,
      queue,
      isLive,
      ...expected,
    };
  });
}

/** That nothing can run it is an answer here; anything else stays an error. */
function refusal(error: unknown): EstimateAnswer & { isPossible: false } {
  const failure = toAppError(error);
  if (failure.code !== "no_engine") throw error;
  return { isPossible: false, reason: failure.message };
}

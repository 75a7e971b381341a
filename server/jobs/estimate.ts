import type { Estimate } from "../db/index.ts";
import type { EngineName } from "../engines/index.ts";
import { toAppError } from "../platform/index.ts";
import { toEstimate } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { loadInputs } from "./load-inputs.ts";
import { readOutlook, type Outlook } from "./outlook.ts";
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
    })
  | { readonly isPossible: false; readonly reason: string };

/** Whether a request can run, where, and in which ranges it waits and runs; stores nothing. Throws `bad_request`, `not_found`. */
export async function estimate(
  services: Services,
  input: unknown,
  submitter: Submitter,
): Promise<EstimateAnswer> {
  const request = parseSubmit(input);
  const inputs = await services.db.transaction((tx) => loadInputs(tx, submitter.userId, request));
  const outlook = await readOutlook(services, request, submitter.userId).catch(refusal);
  if ("isPossible" in outlook) return outlook;
  const { candidate, queue } = outlook.placed;
  const sizeClass = sizeClassOfRun(request.kind, settleParams(request, candidate.workflow), inputs);
  return {
    isPossible: true,
    reason: null,
    engine: candidate.engine,
    workflow: candidate.workflow?.name ?? null,
    queue,
    ...toEstimate(outlook.wait, sizeClass),
  };
}

/** That nothing can run it is an answer here; anything else stays an error. */
function refusal(error: unknown): (EstimateAnswer & { isPossible: false }) | Outlook {
  const failure = toAppError(error);
  if (failure.code !== "no_engine") throw error;
  return { isPossible: false, reason: failure.message };
}

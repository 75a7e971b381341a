import { randomInt } from "node:crypto";
import { z } from "zod";
import { AppError, issuesOf } from "../platform/index.ts";
import { workflowParams, type Workflow } from "../workflows/index.ts";
import type { SubmitRequest } from "./request.ts";

type Params = Readonly<Record<string, unknown>>;

/** What belongs to the kind; a workflow gets these only where it maps them. */
const ofTheKind = new Set(["consent", "category", "scale"]);
const maxRandom = 2 ** 48 - 1;

/**
 * The params that a run needs in full: ranges checked against the workflow, its defaults filled in, the seed drawn, so
 * that the same params give the same picture again. What an unnamed workflow does not take is left out. Throws `workflow_params`.
 */
export function settleParams(request: SubmitRequest, workflow: Workflow | null): Record<string, unknown> {
  const given: Params = request.params;
  if (!workflow) return { ...given };
  const kept = Object.entries(given).filter(([name]) => ofTheKind.has(name) && !(name in workflow.params));
  const own = Object.entries(given).filter(
    ([name]) => name in workflow.params || (request.workflow !== undefined && !ofTheKind.has(name)),
  );
  const result = workflowParams(workflow).safeParse(Object.fromEntries(own));
  if (!result.success) {
    throw new AppError("workflow_params", `"${workflow.title}": ${z.prettifyError(result.error)}`, {
      details: { issues: issuesOf(result.error) },
    });
  }
  const seed = "seed" in workflow.params ? { seed: result.data.seed ?? randomInt(maxRandom) } : {};
  // A default of no words says nothing, and would count as words that were given.
  const said = Object.entries(result.data).filter(([name, value]) => value !== "" || name in given);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(said), ...seed };
}

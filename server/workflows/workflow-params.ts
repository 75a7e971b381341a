import { z } from "zod";
import type { ParamName } from "./manifest.ts";
import { paramSchema } from "./params.ts";
import type { Workflow } from "./workflow.ts";

export type WorkflowParams = Partial<Record<ParamName, string | number>>;

/** Which params a workflow takes, strict, with ranges and defaults; `seed` may be left out: the caller draws it. */
export function workflowParams(workflow: Pick<Workflow, "params">): z.ZodType<WorkflowParams> {
  const shape = Object.entries(workflow.params).map(([name, spec]) => [name, paramSchema(spec)] as const);
  return z.strictObject(Object.fromEntries(shape));
}

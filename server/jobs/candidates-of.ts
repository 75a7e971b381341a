import type { InputRole } from "../engines/index.ts";
import { findCandidates, type Candidate } from "../scheduling/index.ts";
import type { Workflow } from "../workflows/index.ts";
import type { SubmitRequest } from "./request.ts";

/** All ways to run a request. Throws `workflow_unknown` or `workflow_params` when a named workflow does not fit. */
export function candidatesOf(request: SubmitRequest, workflows: readonly Workflow[]): Candidate[] {
  const { kind, params, engine, workflow, inputs } = request;
  // Safe: the schema of the inputs has roles for its keys; one that was left out is undefined.
  const given = Object.entries(inputs).filter(([, id]) => id !== undefined) as [InputRole, string][];
  const roles = new Set(given.map(([role]) => role));
  return findCandidates(workflows, { kind, params, roles, engine, workflow });
}

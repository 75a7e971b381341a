import type { Db, Tx } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";
import type { ParamName, ParamSpec, Workflow } from "../workflows/index.ts";
import { knownWorkflows } from "./known-workflows.ts";
import { livePlaces } from "./places.ts";

/** A workflow as people choose it. */
export interface OfferedWorkflow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: JobKind;
  /** The lower is preferred within the kind. */
  readonly rank: number;
  /** Whether a live server has all that it needs. */
  readonly isLive: boolean;
  readonly params: Partial<Record<ParamName, Omit<ParamSpec, "to">>>;
  readonly inputs: readonly { readonly role: string; readonly required: boolean }[];
}

/** All workflows that are known, those that can run now first, then by preference. */
export async function offeredWorkflows(db: Db | Tx): Promise<OfferedWorkflow[]> {
  const [workflows, live] = await Promise.all([knownWorkflows(db), livePlaces(db)]);
  const liveNeeds = new Set<string>(live.map(({ need }) => need));
  return workflows
    .map((workflow) => toOffered(workflow, liveNeeds.has(`comfyui/${workflow.name}`)))
    .toSorted((a, b) => Number(b.isLive) - Number(a.isLive) || a.rank - b.rank);
}

function toOffered(workflow: Workflow, isLive: boolean): OfferedWorkflow {
  const { name, title, description, kind, rank } = workflow;
  const params = Object.entries(workflow.params).map(
    ([param, { to: _to, ...spec }]) => [param, spec] as const,
  );
  const inputs = Object.entries(workflow.inputs).map(([role, { required }]) => ({ role, required }));
  return { name, title, description, kind, rank, isLive, params: Object.fromEntries(params), inputs };
}

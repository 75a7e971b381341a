import type { Db } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";
import type { ParamName, Workflow } from "../workflows/index.ts";
import { knownWorkflows } from "./workflows.ts";
import { livePlaces } from "./places.ts";
import { readLacks } from "./read-lacks.ts";

/** What a setting of a workflow may be; a number has a range or choices. */
export interface OfferedParam {
  readonly type: "text" | "integer" | "number" | "seed";
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly multipleOf?: number | undefined;
  readonly default?: string | number | undefined;
  readonly required?: boolean;
  readonly choices?: Readonly<Record<string, string | number>> | undefined;
}

/** A workflow as people choose it. */
export interface OfferedWorkflow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: JobKind;
  /** The lower is preferred within the kind. */
  readonly rank: number;
  readonly vramGib: number;
  /** Whether a live server has all that it needs. */
  readonly isLive: boolean;
  /** What the server lacks that is nearest to running it; empty when it is live or no server is there. */
  readonly missing: readonly string[];
  readonly params: Partial<Record<ParamName, OfferedParam>>;
  readonly inputs: readonly { readonly role: string; readonly required: boolean }[];
}

/** All workflows that are known, those that can run now first, then by preference. */
export async function offeredWorkflows(db: Db): Promise<OfferedWorkflow[]> {
  const [workflows, live, lacks] = await Promise.all([knownWorkflows(db), livePlaces(db), readLacks(db)]);
  const liveNeeds = new Set<string>(live.map(({ need }) => need));
  return workflows
    .map((workflow) => {
      const isLive = liveNeeds.has(`comfyui/${workflow.name}`);
      return { ...describe(workflow), isLive, missing: isLive ? [] : (lacks.get(workflow.name) ?? []) };
    })
    .toSorted((a, b) => Number(b.isLive) - Number(a.isLive) || a.rank - b.rank);
}

function describe(workflow: Workflow): Omit<OfferedWorkflow, "isLive" | "missing"> {
  const { name, title, description, kind, rank, vramGib } = workflow;
  const params = Object.entries(workflow.params).map(
    ([param, { to: _to, ...spec }]) => [param, spec] as const,
  );
  const inputs = Object.entries(workflow.inputs).map(([role, { required }]) => ({ role, required }));
  return { name, title, description, kind, rank, vramGib, params: Object.fromEntries(params), inputs };
}

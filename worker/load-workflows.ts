import type { NodeProblem } from "@atelier/server/db";
import type { Env } from "@atelier/server/platform";
import { builtInWorkflows, readWorkflowFolder, type Workflow } from "@atelier/server/workflows";

export interface LoadedWorkflows {
  readonly workflows: readonly Workflow[];
  /** What was refused of the operator's folder, and why. */
  readonly problems: readonly NodeProblem[];
}

/** Built-in workflows and those of the operator's folder; a bad one is refused and the others keep working. */
export async function loadWorkflows({
  WORKFLOWS_DIR: dir,
}: Pick<Env, "WORKFLOWS_DIR">): Promise<LoadedWorkflows> {
  if (dir === undefined) return { workflows: builtInWorkflows, problems: [] };
  const own = await readWorkflowFolder(dir);
  return {
    workflows: [...builtInWorkflows, ...own.workflows],
    problems: own.problems.map(({ name, reason }) => ({ what: name, reason })),
  };
}

import type { NodeProblem } from "@atelier/server/db";
import type { Workflow } from "@atelier/server/workflows";
import type { Engine } from "./engines/index.ts";
import type { ServerPool } from "./servers/index.ts";

export interface WorkInput {
  readonly engines: readonly Engine[];
  readonly pool: ServerPool;
  /** Built-in ones and those of this node's own folder. */
  readonly workflows: readonly Workflow[];
  /** What was not taken of that folder. */
  readonly problems: readonly NodeProblem[];
}

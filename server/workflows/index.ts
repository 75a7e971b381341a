export { buildGraph, type GraphRequest } from "./build-graph.ts";
export { builtInWorkflows } from "./built-in.ts";
export {
  checkGraph,
  checkWorkflow,
  findMissing,
  isComplete,
  type Missing,
  findInput,
  type ObjectInfo,
  type ObjectInfoByClass,
} from "./check.ts";
export type { Graph, InputSpec, Manifest, ParamName, ParamSpec, ModelPlace, Workflow } from "./workflow.ts";
export { parseWorkflow, type WorkflowSource } from "./parse.ts";
export { readWorkflowFolder, type WorkflowProblem } from "./read-folder.ts";
export { takesInputs, workflowParams, type WorkflowParams } from "./params.ts";

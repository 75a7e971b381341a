/**
 * ComfyUI workflows as data: read, parsed, checked, and filled with the values of a job.
 *
 * - graph: ComfyUI's JSON of nodes. Manifest: kind, params, inputs, models and outputs of a graph.
 * - built-in: shipped with the product. Others come from `WORKFLOWS_DIR` of a worker.
 *
 * No code runs from a workflow, and nothing here calls a server: `checkGraph` compares a graph with object infos read elsewhere.
 */
export { buildGraph } from "./build-graph.ts";
export { builtInNames, builtInWorkflows } from "./built-in.ts";
export { checkGraph, checkWorkflow } from "./check.ts";
export {
  findWishes,
  hasWishes,
  type ListedName,
  listedPlaces,
  listsOf,
  loraClasses,
  placeOf,
  type Wish,
  wishesOf,
} from "./listed.ts";
export { findInput, type ObjectInfo, type ObjectInfoByClass } from "./inputs.ts";
export {
  describeMissing,
  findMissing,
  isComplete,
  isTight,
  knowsMemory,
  noteWorkflow,
  readModelChoices,
  readSeedRanges,
  seedRange,
  type SeedRanges,
} from "./needs.ts";
export { findModel, loadedAfter, loraInput, type ModelChoices, spellModels } from "./models.ts";
export { type ParamName, readGraphInput, type Workflow } from "./workflow.ts";
export { parseWorkflow } from "./parse.ts";
export { readWorkflowFolder } from "./read-folder.ts";
export {
  drawSeed,
  listedParams,
  lorasSchema,
  pictureStrengths,
  seedWithin,
  takesInputs,
  workflowParams,
} from "./params.ts";

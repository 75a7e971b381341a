export { jobKinds, optionalInputs, requiredInputs, type InputRole, type JobKind } from "./kinds.ts";
export { needOf, type Need } from "./need.ts";
export {
  comfyuiEngine,
  engineNames,
  engines,
  iopaintEngine,
  localEngine,
  maxOutputPixels,
  type EngineFacts,
  type EngineName,
} from "../engines.ts";
export { enginesFor, type Wish } from "./preference.ts";

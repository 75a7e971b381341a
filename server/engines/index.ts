export { jobKinds, kindInputs, type InputRole, type JobKind } from "./kinds.ts";
export { engines, localEngine, maxOutputPixels, type EngineFacts } from "./catalog.ts";

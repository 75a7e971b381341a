export { offeredWorkflow, readSimulatedClasses, sampleFiles, writeWorkflow } from "./workflows.ts";

export { readSimulatedClasses, sampleFiles, writeWorkflow } from "./workflows.ts";

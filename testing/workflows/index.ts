export { readSimulatedClasses } from "./read-simulated-classes.ts";
export { sampleFiles } from "./workflows.ts";
export { writeWorkflow } from "./write-workflow.ts";

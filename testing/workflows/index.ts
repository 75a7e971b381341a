export { readSimulatedClasses } from "./read-simulated-classes.ts";
export { sampleFiles } from "./sample-files.ts";
export { writeWorkflow } from "./write-workflow.ts";

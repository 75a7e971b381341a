export { factObjectInfo } from "./fact-object-info.ts";
export { sampleFiles } from "./sample-files.ts";
export { writeWorkflow } from "./write-workflow.ts";

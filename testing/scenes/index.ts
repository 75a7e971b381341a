export { type BatchScene, openBatchScene, submitting } from "./batch-scene.ts";
export { openJobScene, type JobScene } from "./job-scene.ts";

export { openJobScene, type JobScene } from "./job-scene.ts";

export { processEnv } from "./process-env.ts";
export { type EngineScript, type PausePoint } from "./script.ts";
export { startTestWorker, type TestWorker, type TestWorkerOptions } from "./start-test-worker.ts";

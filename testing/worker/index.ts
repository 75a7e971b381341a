export { processEnv, startTestWorker, type TestWorker, type TestWorkerOptions } from "./start-test-worker.ts";
export type { EngineScript, PausePoint } from "./simulated-engine.ts";

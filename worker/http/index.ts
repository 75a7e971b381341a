export { openWorkerHttp, type WorkerHttp } from "./open-worker-http.ts";

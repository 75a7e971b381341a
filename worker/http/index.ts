export { openWorkerHttp } from "./open-worker-http.ts";

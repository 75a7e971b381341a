export { openWorkerHttp } from "./server.ts";

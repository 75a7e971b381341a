/**
 * The HTTP endpoints of one worker, for programs in its network: create an image, read its status and result, /health.
 * Clients of the assistant also get its answers here, over WebSockets. A request only submits a job of one shared account;
 * any worker may run it.
 *
 *   server.ts    opens the port, and closes it with the worker
 *   answer.ts    checks the token, routes
 *   handlers.ts  the endpoints
 *
 * Not here: users and browsers, which use the web server.
 */
export { openWorkerHttp } from "./server.ts";

/**
 * The two surfaces of the product: tRPC for the pages (`trpc/`) and the HTTP API for programs (`http/`).
 *
 * A procedure or route checks the input, resolves the caller, calls one function of a noun and turns errors into problems.
 * No SQL and no rules of the product here; no other folder of `server/` imports this one.
 */
export { handleAuth } from "./auth.ts";
export { createHttpApp, handleHttp } from "./http/app.ts";
export { healthResponse, readyResponse } from "./http/health.ts";
export { metricsResponse } from "./http/metrics.ts";
export { handleTrpc, appRouter, type AppRouter } from "./trpc/handle.ts";
export { withDrainedBody, type DrainBounds } from "./requests.ts";

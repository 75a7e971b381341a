/**
 * The surfaces of the product: tRPC for the pages (`trpc/`), the HTTP API for programs (`http/`), the APIs of other
 * servers for programs that were written for those (`clients/`), and the pages behind links for visitors (`visitor/`).
 *
 * A procedure or route checks the input, resolves the caller, calls one function of a noun and turns errors into problems.
 * No SQL and no rules of the product here; no other folder of `server/` imports this one.
 */
export { handleAuth } from "./auth.ts";
export { forMethods } from "./methods.ts";
export { handleClients } from "./clients/app.ts";
export { createHttpApp, handleHttp } from "./http/app.ts";
export { healthResponse, readyResponse } from "./http/health.ts";
export { metricsResponse } from "./http/metrics.ts";
export { handleProviderWebhook } from "./provider-webhooks.ts";
export type { LiveUpdate } from "./trpc/jobs.ts";
export { handleTrpc, appRouter, procedures, type AppRouter } from "./trpc/handle.ts";
export { handleVisit } from "./visitor/app.ts";
export { withDrainedBody, withVisitor, type DrainBounds } from "./requests.ts";

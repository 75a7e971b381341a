export { handleAuth } from "./auth.ts";
export { createHttpApp, handleHttp } from "./http/app.ts";
export { checkHealth, healthResponse, readyResponse, type Health, type PartHealth } from "./http/health.ts";
export { metricsResponse } from "./http/metrics.ts";
export { createContext, type TrpcContext } from "./trpc/context.ts";
export { handleTrpc } from "./trpc/handle.ts";
export { appRouter, type AppRouter } from "./trpc/router.ts";
export { withDrainedBody, type DrainBounds } from "./requests.ts";

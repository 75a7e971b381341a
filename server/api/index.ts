export { handleAuth } from "./auth.ts";
export { createHttpApp, handleHttp } from "./http/app.ts";
export {
  checkHealth,
  healthResponse,
  readyResponse,
  type Health,
  type PartHealth,
  metricsResponse,
} from "./http/health.ts";
export { createContext, type TrpcContext } from "./trpc/init.ts";
export { handleTrpc, appRouter, type AppRouter } from "./trpc/handle.ts";
export { withDrainedBody, type DrainBounds } from "./requests.ts";

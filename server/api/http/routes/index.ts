import type { HttpRoute } from "../route.ts";

/** Every route of the HTTP API. What is served, documented and tested for access comes from this table alone. */
export const httpRoutes: readonly HttpRoute[] = [];

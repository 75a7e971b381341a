import { type AppError, keptBy } from "../../platform/index.ts";
import { Hono } from "hono";
import type { Services } from "../../services.ts";
import { logRequests } from "../http/request-log.ts";
import { generationsApi } from "./generations.ts";
import { iopaintApi } from "./iopaint.ts";
import { iopaintSocketApi } from "./iopaint-socket.ts";
import { jobServerApi } from "./job-server.ts";
import { lamaApi } from "./lama.ts";
import { queryApi } from "../assistant-queries.ts";
import { problemResponse } from "../http/route.ts";
import { answerUnrouted } from "../methods.ts";
import { mcpApi } from "../mcp/routes.ts";
import { openaiApi } from "../openai/routes.ts";
import { sdapi } from "../sdapi/routes.ts";
import { type ClientApi, mountClientApi } from "./route.ts";

interface Mount {
  readonly api: ClientApi;
  readonly prefix: string;
}

/** What is served outside of /api/v1 for programs of others. The access tests read this table. */
export const clientMounts: readonly Mount[] = [
  { api: jobServerApi, prefix: "" },
  { api: generationsApi, prefix: "/api/generations" },
  { api: queryApi, prefix: "/api" },
  { api: iopaintApi, prefix: "/iopaint/api/v1" },
  { api: iopaintSocketApi, prefix: "/iopaint" },
  { api: lamaApi, prefix: "/iopaint" },
  { api: openaiApi, prefix: "/v1" },
  { api: sdapi, prefix: "" },
  { api: mcpApi, prefix: "" },
  // At the root their paths are those of a server that stands alone.
  { api: { ...lamaApi, isSwitched: true }, prefix: "" },
];

const appOf = keptBy(createClientsApp);

/** Answers a request of a program that was written for another server. */
export function handleClients(services: Services, request: Request): Promise<Response> | Response {
  return appOf(services).fetch(request);
}

/** Programs read the errors of an API in its own shape alone, also those of an address or method that it does not have. */
function shapeOf(path: string): (error: AppError) => Response {
  const { api } = clientMounts.find(({ prefix }) => prefix !== "" && path.startsWith(`${prefix}/`)) ?? {};
  return api?.unroutedResponse ?? problemResponse;
}

export function createClientsApp(services: Services): Hono {
  const app = new Hono();
  logRequests(app, services);
  answerUnrouted(app, shapeOf);
  for (const mount of clientMounts) mountClientApi(app, services, mount);
  return app;
}

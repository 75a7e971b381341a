import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { Services } from "../../services.ts";
import { hasFewValues } from "../../platform/index.ts";
import { isJson, maxJsonBytes, readLimited, withRequestId } from "../requests.ts";
import { speakTo } from "../../words.ts";
import { adminRouter } from "./admin.ts";
import { cloudRouter } from "./cloud.ts";
import { deliveriesRouter, notificationsRouter, telegramRouter, webhooksRouter } from "./deliveries.ts";
import { boardsRouter } from "./boards.ts";
import { duplicatesRouter, imagesRouter, presetsRouter, tagsRouter } from "./gallery.ts";
import { createContext, statusOfAll, t } from "./init.ts";
import { assistantRouter, memoriesRouter } from "./assistant.ts";
import { batchesRouter, jobsRouter } from "./jobs.ts";
import { answerLive, livePath } from "./live.ts";
import {
  accountRouter,
  apiKeysRouter,
  editsRouter,
  linksRouter,
  wardrobeRouter,
  workflowsRouter,
} from "./library.ts";

export const appRouter = t.router({
  account: accountRouter,
  admin: adminRouter,
  apiKeys: apiKeysRouter,
  assistant: assistantRouter,
  batches: batchesRouter,
  boards: boardsRouter,
  duplicates: duplicatesRouter,
  presets: presetsRouter,
  cloud: cloudRouter,
  deliveries: deliveriesRouter,
  edits: editsRouter,
  images: imagesRouter,
  jobs: jobsRouter,
  links: linksRouter,
  memories: memoriesRouter,
  notifications: notificationsRouter,
  tags: tagsRouter,
  telegram: telegramRouter,
  wardrobe: wardrobeRouter,
  webhooks: webhooksRouter,
  workflows: workflowsRouter,
});

export type AppRouter = typeof appRouter;

/** The procedures for a page that is made on the server, with the checks of a request that has these headers. */
export const procedures = (services: Services, headers: Headers) =>
  appRouter.createCaller(createContext(services, new Request("http://page.invalid/", { headers })));

const trpcEndpoint = "/api/trpc";

const maxQueries = 20;
/** Of one request; each may hold a connection of the database for long. */
const maxMutations = 5;

function refuse(status: number, message: string): Response {
  return Response.json({ error: message }, { status });
}

/** Answers a tRPC request: queries by GET, mutations by POST with JSON, subscriptions as server-sent events. */
export function handleTrpc(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => speakTo(request.headers, () => answer(services, request)));
}

async function answer(services: Services, request: Request): Promise<Response> {
  const isLive = new URL(request.url).pathname === `${trpcEndpoint}/${livePath}`;
  if (isLive && request.method === "GET") return answerLive(services, request);
  let bounded = request;
  if (request.method === "POST") {
    if (!isJson(request)) return refuse(415, "Mutations are sent as application/json.");
    const body = await readLimited(request, maxJsonBytes);
    if (!body) return refuse(413, "The request is too large.");
    if (!hasFewValues(new TextDecoder().decode(body)))
      return refuse(400, "The request holds too many values.");
    bounded = new Request(request.url, {
      method: "POST",
      headers: request.headers,
      body,
      signal: request.signal,
    });
  }
  return fetchRequestHandler({
    endpoint: trpcEndpoint,
    req: bounded,
    router: appRouter,
    createContext: () => createContext(services, bounded),
    responseMeta: ({ errors, data }) => {
      const status = statusOfAll(errors, data.length);
      return status === undefined ? {} : { status };
    },
    maxBatchSize: request.method === "POST" ? maxMutations : maxQueries,
  });
}

import { z } from "zod";
import { metricsOf, readFigures } from "../../assistant/index.ts";
import { metricsText, readNodes, readOverview, readQueues } from "../../monitoring/index.ts";
import { isFault } from "../../platform/index.ts";
import { readProviders } from "../../providers/index.ts";
import { liveKeys } from "../../scheduling/index.ts";
import type { Services } from "../../services.ts";
import { classifyError, withRequestId } from "../requests.ts";
import { defineRoute, problemResponse, requireCaller } from "./route.ts";

/** GET /metrics: the figures of the admin pages as OpenMetrics, for an admin's API key with the right `metrics` (401 and 403 for others). */
export function metricsResponse(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => answerOrRefuse(services, request));
}

async function answerOrRefuse(services: Services, request: Request): Promise<Response> {
  try {
    return await answer(services, request);
  } catch (error) {
    const appError = classifyError(error);
    if (isFault(appError.code))
      services.log.error({ code: appError.code, err: appError.cause ?? appError }, "metrics not read");
    return problemResponse(appError);
  }
}

const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async function answer(services: Services, request: Request): Promise<Response> {
  await requireCaller(services, request, { right: "metrics" });
  const reading = readNodes(services);
  const [overview, nodes, providers, assistant] = await Promise.all([
    readOverview(services, { window: "1h", nodes: reading }),
    reading,
    liveKeys(services.db).then((held) => readProviders(services, held)),
    readFigures(services, { hours: 1 }),
  ]);
  return new Response(metricsText({ overview, nodes, providers, others: metricsOf(assistant) }), {
    headers: { "content-type": contentType, "cache-control": "no-store" },
  });
}

const scalingSchema = z.object({
  queues: z
    .record(
      z.string(),
      z.object({
        jobs: z.int().describe("Waiting and running: what an autoscaler follows"),
        waiting: z.int().describe("In line"),
        running: z.int().describe("On a worker"),
        slots: z.int().describe("Jobs at once of the workers that are there"),
        workers: z.int().describe("Workers that are there"),
        oldestWaitingS: z.number().describe("Seconds that the oldest job in line has waited; 0 without one"),
      }),
    )
    .describe("By name; each configured queue is there, also without jobs and workers"),
});

/** GET /scaling: one number for each queue, as KEDA's scaler `metrics-api` reads it. */
export const scalingRoute = defineRoute({
  method: "get",
  path: "/scaling",
  operationId: "getScaling",
  summary: "How many workers each queue needs",
  description: `For autoscalers, with an admin's key that needs no right but \`metrics\`. \`queues.<name>.jobs\` counts waiting and running jobs together: a
number of waiting jobs alone takes workers away from under running ones. \`/metrics\` has the same as \`atelier_jobs_open\`.`,
  tag: "operation",
  right: "metrics",
  responses: { 200: { description: "The queues", schema: scalingSchema } },
  handle: async ({ services }) => {
    const queues = (await readQueues(services)).map(
      ({ queue, waiting, running, slots, nodes, oldestWaitingMs }) => [
        queue,
        {
          jobs: waiting + running,
          waiting,
          running,
          slots,
          workers: nodes.length,
          oldestWaitingS: (oldestWaitingMs ?? 0) / 1_000,
        },
      ],
    );
    const answered: z.input<typeof scalingSchema> = { queues: Object.fromEntries(queues) };
    return Response.json(answered, { headers: { "cache-control": "no-store" } });
  },
});

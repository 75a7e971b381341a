import { metricsOf, readFigures } from "../../assistant/index.ts";
import { metricsText, readNodes, readOverview } from "../../monitoring/index.ts";
import { AppError, ruleOf } from "../../platform/index.ts";
import { readProviders } from "../../providers/index.ts";
import { liveKeys } from "../../scheduling/index.ts";
import type { Services } from "../../services.ts";
import { classifyError, withRequestId } from "../requests.ts";
import { problemResponse, requireCaller } from "./route.ts";

/** GET /metrics: the figures of the admin pages as OpenMetrics, for an admin's API key with the right `metrics` (401 and 403 for others). */
export function metricsResponse(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => answerOrRefuse(services, request));
}

async function answerOrRefuse(services: Services, request: Request): Promise<Response> {
  try {
    return await answer(services, request);
  } catch (error) {
    const appError = classifyError(error);
    if (ruleOf(appError.code).httpStatus >= 500)
      services.log.error({ code: appError.code, err: appError.cause ?? appError }, "metrics not read");
    return problemResponse(appError);
  }
}

const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async function answer(services: Services, request: Request): Promise<Response> {
  const caller = await requireCaller(services, request, { right: "metrics" });
  // The right is an admin's alone.
  if (!caller.isAdmin && !caller.rights) throw new AppError("forbidden");
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

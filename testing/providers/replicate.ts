import {
  refusalText,
  type SimAnswer,
  type Simulator,
  type SimRequest,
  type SimRun,
  type SimWebhook,
  type Vendor,
} from "./port.ts";
import { isPost, notFound, runOf, uploaded } from "./requests.ts";
import { replicateSecret, standardHeaders } from "./signatures.ts";

const replicateStatus = {
  queued: "starting",
  running: "processing",
  succeeded: "succeeded",
  failed: "failed",
  moderated: "failed",
  flagged: "succeeded",
  refused: "succeeded",
  cancelled: "canceled",
} as const;

function prediction(simulator: Simulator, run: SimRun) {
  const errors = { failed: "Something broke", moderated: "NSFW content detected" } as const;
  const error = run.state === "failed" || run.state === "moderated" ? errors[run.state] : null;
  return {
    id: run.id,
    model: run.endpoint,
    status: replicateStatus[run.state],
    output: simulator.isResultGone ? null : outputOf(simulator, run),
    data_removed: run.state === "succeeded" && simulator.isResultGone,
    error,
    webhook: run.webhookUrl,
    created_at: run.createdAt.toISOString(),
  };
}

/** The list leaves webhooks out. */
function listed(simulator: Simulator, run: SimRun) {
  const { webhook: _, ...rest } = prediction(simulator, run);
  return rest;
}

/** Some models have flags beside their pictures, some answer with a text. */
function outputOf(simulator: Simulator, run: SimRun): unknown {
  if (run.state === "refused") return refusalText;
  if (run.state === "flagged") return { images: [simulator.pictureText(run)], has_nsfw_concepts: [true] };
  return run.state === "succeeded" ? simulator.pictureText(run) : null;
}

function submitted(simulator: Simulator, { url, json }: SimRequest): SimAnswer {
  const { webhook, webhook_events_filter: filter, input } = json;
  const webhookUrl = typeof webhook === "string" ? webhook : null;
  if (simulator.isHttpsOnly && webhookUrl?.startsWith("http:"))
    return {
      status: 422,
      json: { detail: "webhook: Must be a HTTPS URL.", title: "Input validation failed" },
    };
  const events = Array.isArray(filter) ? filter.map(String) : null;
  const run = simulator.start({ endpoint: url.pathname, input, webhookUrl, events });
  return { status: 201, json: prediction(simulator, run) };
}

/** The prediction as it was at an event: each report holds the whole of it. */
function report(simulator: Simulator, run: SimRun, event: string): SimWebhook {
  const whole = prediction(simulator, run);
  const earlier = { start: { status: "starting", output: null }, output: { status: "processing" } };
  const isEarlier = event === "start" || event === "output";
  const body = JSON.stringify({ ...whole, ...(isEarlier ? earlier[event] : {}) });
  return { body, headers: standardHeaders(replicateSecret, body) };
}

export const replicate: Vendor = {
  name: "replicate",
  isSubmit: (request) => isPost(request, /predictions$/),
  handle(simulator, request) {
    const { pathname } = request.url;
    if (this.isSubmit(request)) return submitted(simulator, request);
    if (isPost(request, /\/files$/))
      return uploaded(simulator, {
        status: 201,
        json: { urls: { get: `${simulator.origin}/sim-pictures/upload.png` } },
      });
    if (pathname.endsWith("/predictions")) {
      const results = [...simulator.runs.values()].map((run) => listed(simulator, run)).toReversed();
      return { status: 200, json: { next: null, previous: null, results } };
    }
    const run = runOf(simulator, /predictions\/([^/]+)/.exec(pathname)?.[1]);
    if (!run) return notFound;
    if (pathname.endsWith("/cancel")) simulator.finish(run, "cancelled");
    return { status: 200, json: prediction(simulator, run) };
  },
  refusal(fault) {
    switch (fault) {
      case "rate":
        return {
          status: 429,
          json: { detail: "Request was throttled. Your rate limit resets in ~30s." },
        };
      case "auth":
        return { status: 401, json: { detail: "Invalid token." } };
      case "credit":
        return { status: 402, json: { detail: "Insufficient credit." } };
      case "input":
        return {
          status: 422,
          json: { detail: "- input: prompt is required", title: "Input validation failed" },
        };
      case "quota":
      case "busy":
        return null;
    }
  },
  webhooks: (simulator, run) =>
    (
      simulator.reportedEvents ??
      ["start", "output", "completed"].filter((event) => run.events?.includes(event) ?? true)
    ).map((event) => report(simulator, run, event)),
};

import type { Simulator, SimRun, Vendor } from "./port.ts";
import { isPost, notFound, runOf } from "./requests.ts";

const fashnStatus = {
  running: "processing",
  failed: "failed",
  cancelled: "canceled",
  queued: "in_queue",
  succeeded: "completed",
  moderated: "failed",
} as const;

function fashnBody(simulator: Simulator, run: SimRun) {
  const names = { failed: "PipelineError", moderated: "ContentModerationError" } as const;
  const name = run.state === "failed" || run.state === "moderated" ? names[run.state] : null;
  return {
    id: run.id,
    status: fashnStatus[run.state],
    output: run.state === "succeeded" ? [simulator.pictureUrl(run)] : null,
    error: name === null ? null : { name, message: "It did not work." },
  };
}

export const fashn: Vendor = {
  name: "fashn",
  isSubmit: (request) => isPost(request, /\/run$/),
  handle(simulator, request) {
    if (this.isSubmit(request)) {
      const webhookUrl = request.url.searchParams.get("webhook_url");
      const endpoint = String(request.json["model_name"]);
      const run = simulator.start({ endpoint, input: request.json["inputs"], webhookUrl });
      return { status: 200, json: { id: run.id, error: null } };
    }
    const run = runOf(simulator, /status\/([^/]+)/.exec(request.url.pathname)?.[1]);
    return run ? { status: 200, json: fashnBody(simulator, run) } : notFound;
  },
  refusal(fault) {
    const names = {
      rate: "RateLimitExceeded",
      busy: "ConcurrencyLimitExceeded",
      credit: "OutOfCredits",
    } as const;
    if (fault === "auth") return { status: 401, json: { error: "UnauthorizedAccess", message: "No." } };
    return { status: 429, json: { error: names[fault], message: "No." }, headers: { "retry-after": "5" } };
  },
  webhook: (simulator, run) => ({ body: JSON.stringify(fashnBody(simulator, run)), headers: {} }),
};

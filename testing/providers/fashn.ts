import { refusalText, type SimAnswer, type Simulator, type SimRun, type Vendor } from "./port.ts";
import { isPost, notFound, runOf } from "./requests.ts";

const fashnStatus = {
  running: "processing",
  failed: "failed",
  cancelled: "canceled",
  queued: "in_queue",
  succeeded: "completed",
  moderated: "failed",
  flagged: "completed",
  refused: "completed",
} as const;

function outputOf(simulator: Simulator, run: SimRun) {
  if (run.state === "refused") return [refusalText];
  return run.state === "succeeded" || run.state === "flagged" ? [simulator.pictureText(run)] : null;
}

function fashnBody(simulator: Simulator, run: SimRun) {
  const names = { failed: "PipelineError", moderated: "ContentModerationError" } as const;
  const name = run.state === "failed" || run.state === "moderated" ? names[run.state] : null;
  return {
    id: run.id,
    status: fashnStatus[run.state],
    output: outputOf(simulator, run),
    ...(run.state === "flagged" ? { has_nsfw_concepts: true } : {}),
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
    const error = (status: number, name: string, headers = {}): SimAnswer => ({
      status,
      json: { error: name, message: "No." },
      headers,
    });
    switch (fault) {
      case "rate":
        return error(429, "RateLimitExceeded", { "retry-after": "5" });
      case "busy":
        return error(429, "ConcurrencyLimitExceeded", { "retry-after": "5" });
      case "credit":
        return error(429, "OutOfCredits");
      case "auth":
        return error(401, "UnauthorizedAccess");
      case "input":
        return error(400, "BadRequest");
      case "quota":
        return null;
    }
  },
  webhooks: (simulator, run) => [{ body: JSON.stringify(fashnBody(simulator, run)), headers: {} }],
};

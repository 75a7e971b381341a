import type { Simulator, SimRun, Vendor } from "./port.ts";
import { isPost, notFound, runOf, uploaded } from "./requests.ts";
import { replicateSecret, standardHeaders } from "./signatures.ts";

const replicateStatus = {
  queued: "starting",
  running: "processing",
  succeeded: "succeeded",
  failed: "failed",
  moderated: "failed",
  cancelled: "canceled",
} as const;

function prediction(simulator: Simulator, run: SimRun) {
  const errors = { failed: "Something broke", moderated: "NSFW content detected" } as const;
  const error = run.state === "failed" || run.state === "moderated" ? errors[run.state] : null;
  return {
    id: run.id,
    model: run.endpoint,
    status: replicateStatus[run.state],
    output: run.state === "succeeded" ? simulator.pictureUrl(run) : null,
    error,
    webhook: run.webhookUrl,
    created_at: run.createdAt.toISOString(),
  };
}

export const replicate: Vendor = {
  name: "replicate",
  isSubmit: (request) => isPost(request, /predictions$/),
  handle(simulator, request) {
    const { pathname } = request.url;
    const { json } = request;
    if (this.isSubmit(request)) {
      const webhookUrl = typeof json["webhook"] === "string" ? json["webhook"] : null;
      const run = simulator.start({ endpoint: pathname, input: json["input"], webhookUrl });
      return { status: 201, json: prediction(simulator, run) };
    }
    if (isPost(request, /\/files$/))
      return uploaded(simulator, {
        status: 201,
        json: { urls: { get: `${simulator.origin}/sim-pictures/upload.png` } },
      });
    if (pathname.endsWith("/predictions")) {
      const results = [...simulator.runs.values()].map((run) => prediction(simulator, run)).toReversed();
      return { status: 200, json: { next: null, previous: null, results } };
    }
    const run = runOf(simulator, /predictions\/([^/]+)/.exec(pathname)?.[1]);
    if (!run) return notFound;
    if (pathname.endsWith("/cancel")) simulator.finish(run, "cancelled");
    return { status: 200, json: prediction(simulator, run) };
  },
  refusal(fault) {
    const throttled = { detail: "Request was throttled. Your rate limit resets in ~30s." };
    if (fault === "rate") return { status: 429, json: throttled };
    if (fault === "auth") return { status: 401, json: { detail: "Invalid token." } };
    return fault === "credit" ? { status: 402, json: { detail: "Insufficient credit." } } : null;
  },
  webhook(simulator, run) {
    const body = JSON.stringify(prediction(simulator, run));
    return { body, headers: standardHeaders(replicateSecret, body) };
  },
};

import type { Simulator, SimRun, Vendor } from "./port.ts";
import { notFound, runOf } from "./requests.ts";
import { replicateSecret, standardHeaders } from "./signatures.ts";

const higgsfieldStatus = {
  failed: "failed",
  cancelled: "canceled",
  queued: "queued",
  running: "in_progress",
  succeeded: "completed",
  moderated: "nsfw",
} as const;

function higgsfieldBody(simulator: Simulator, run: SimRun) {
  const images = run.state === "succeeded" ? { images: [{ url: simulator.pictureUrl(run) }] } : {};
  return { request_id: run.id, status: higgsfieldStatus[run.state], ...images };
}

export const higgsfield: Vendor = {
  name: "higgsfield",
  isSubmit: (request) => request.method === "POST" && !request.url.pathname.endsWith("/cancel"),
  handle(simulator, request) {
    const { pathname, searchParams } = request.url;
    if (this.isSubmit(request)) {
      const key = request.headers["idempotency-key"];
      const run = simulator.start({
        endpoint: pathname.slice(1),
        input: request.json,
        webhookUrl: searchParams.get("hf_webhook"),
        idempotencyKey: typeof key === "string" ? key : null,
      });
      return { status: 200, json: { status: "queued", request_id: run.id } };
    }
    const run = runOf(simulator, /requests\/([^/]+)/.exec(pathname)?.[1]);
    if (!run) return notFound;
    if (pathname.endsWith("/cancel")) {
      if (run.state !== "queued") return { status: 400, json: { detail: "Only queued requests." } };
      simulator.finish(run, "cancelled");
    }
    return { status: 200, json: higgsfieldBody(simulator, run) };
  },
  refusal(fault) {
    if (fault === "auth") return { status: 401, json: { detail: "Invalid credentials" } };
    if (fault === "credit") return { status: 403, json: { detail: "Not enough credits" } };
    if (fault === "busy")
      return { status: 400, json: { detail: "Maximum number of concurrent requests (4) has been reached" } };
    return { status: 429, json: { detail: "Too many requests" }, headers: { "retry-after": "9" } };
  },
  webhook(simulator, run) {
    const body = JSON.stringify(higgsfieldBody(simulator, run));
    return { body, headers: standardHeaders(replicateSecret, body) };
  },
};

import { isDeepStrictEqual } from "node:util";
import {
  refusalText,
  type SimAnswer,
  type Simulator,
  type SimRequest,
  type SimRun,
  type Vendor,
} from "./port.ts";
import { notFound, runOf } from "./requests.ts";
import { replicateSecret, standardHeaders } from "./signatures.ts";

const higgsfieldStatus = {
  failed: "failed",
  cancelled: "canceled",
  queued: "queued",
  running: "in_progress",
  succeeded: "completed",
  moderated: "nsfw",
  flagged: "completed",
  refused: "completed",
} as const;

function resultOf(simulator: Simulator, run: SimRun) {
  if (run.state === "refused") return { images: [], message: refusalText };
  const isMade = run.state === "succeeded" || run.state === "flagged";
  return isMade ? { images: [{ url: simulator.pictureText(run), nsfw: run.state === "flagged" }] } : {};
}

function higgsfieldBody(simulator: Simulator, run: SimRun) {
  return { request_id: run.id, status: higgsfieldStatus[run.state], ...resultOf(simulator, run) };
}

/** The newer interface refuses another submit under a key that it knows; the older one knows no keys. */
function submitted(simulator: Simulator, { url, headers, json }: SimRequest): SimAnswer {
  const key = headers["idempotency-key"];
  const given = {
    endpoint: url.pathname.slice(1),
    input: json,
    webhookUrl: url.searchParams.get("hf_webhook"),
    idempotencyKey: simulator.generation === "new" && typeof key === "string" ? key : null,
  };
  const { endpoint, input, webhookUrl, idempotencyKey, id } = simulator.start(given);
  if (!isDeepStrictEqual({ endpoint, input, webhookUrl, idempotencyKey }, given))
    return { status: 422, json: { detail: "Idempotency-Key was used with other parameters." } };
  return { status: 200, json: { status: "queued", request_id: id } };
}

export const higgsfield: Vendor = {
  name: "higgsfield",
  isSubmit: (request) => request.method === "POST" && !request.url.pathname.endsWith("/cancel"),
  handle(simulator, request) {
    const { pathname } = request.url;
    if (this.isSubmit(request)) return submitted(simulator, request);
    const run = runOf(simulator, /requests\/([^/]+)/.exec(pathname)?.[1]);
    if (!run) return notFound;
    if (pathname.endsWith("/cancel")) {
      if (run.state !== "queued") return { status: 400, json: { detail: "Only queued requests." } };
      simulator.finish(run, "cancelled");
    }
    return { status: 200, json: higgsfieldBody(simulator, run) };
  },
  refusal(fault, { generation }) {
    switch (fault) {
      case "auth":
        return { status: 401, json: { detail: "Invalid credentials" } };
      case "credit":
        return { status: 403, json: { detail: "Not enough credits" } };
      case "rate":
        return { status: 429, json: { detail: "Too many requests" }, headers: { "retry-after": "9" } };
      case "input":
        return {
          status: 422,
          json: { detail: [{ loc: ["body", "prompt"], msg: "field required", type: "missing" }] },
        };
      case "busy":
        return generation === "old"
          ? { status: 400, json: { detail: "Maximum number of concurrent requests (4) has been reached" } }
          : {
              status: 429,
              json: { code: "account_queue_full", limit: 100 },
              headers: { "retry-after": "12" },
            };
      case "quota":
        return null;
    }
  },
  webhooks(simulator, run) {
    const body = JSON.stringify(higgsfieldBody(simulator, run));
    return [{ body, headers: simulator.generation === "old" ? {} : standardHeaders(replicateSecret, body) }];
  },
};

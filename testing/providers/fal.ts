import type { SimAnswer, Simulator, SimRun, Vendor } from "./port.ts";
import { notFound, runOf } from "./requests.ts";
import { falHeaders, falKeys } from "./signatures.ts";

function falUrls(simulator: Simulator, run: SimRun) {
  const [owner, app] = run.endpoint.split("/");
  const base = `${simulator.origin}/${owner}/${app}/requests/${run.id}`;
  return { status_url: `${base}/status`, response_url: base, cancel_url: `${base}/cancel` };
}

export const fal: Vendor = {
  name: "fal",
  isSubmit: (request) => request.method === "POST",
  handle(simulator, request) {
    const { pathname, searchParams } = request.url;
    if (pathname === "/.well-known/jwks.json") {
      const { x } = falKeys.current.publicKey.export({ format: "jwk" });
      return { status: 200, json: { keys: [{ kty: "OKP", crv: "Ed25519", x }] } };
    }
    if (this.isSubmit(request)) {
      const endpoint = pathname.slice(1);
      const run = simulator.start({
        endpoint,
        input: request.json,
        webhookUrl: searchParams.get("fal_webhook"),
      });
      return {
        status: 200,
        json: { status: "IN_QUEUE", request_id: run.id, queue_position: 0, ...falUrls(simulator, run) },
      };
    }
    const run = runOf(simulator, /requests\/([^/]+)/.exec(pathname)?.[1]);
    if (!run) return notFound;
    const isOpen = run.state === "queued" || run.state === "running";
    if (pathname.endsWith("/cancel")) {
      if (!isOpen) return { status: 400, json: { status: "ALREADY_COMPLETED" } };
      simulator.finish(run, "cancelled");
      return { status: 202, json: { status: "CANCELLATION_REQUESTED" } };
    }
    if (pathname.endsWith("/status"))
      return isOpen
        ? { status: 202, json: { status: "IN_PROGRESS", logs: [] } }
        : { status: 200, json: { status: "COMPLETED", metrics: { inference_time: 1 } } };
    return falResult(simulator, run);
  },
  refusal(fault) {
    if (fault === "rate")
      return { status: 429, json: { detail: "Too many requests" }, headers: { "retry-after": "7" } };
    if (fault === "auth") return { status: 401, json: { detail: "Cannot access application" } };
    return fault === "credit"
      ? { status: 403, json: { detail: "User is locked. Reason: Exhausted balance." } }
      : null;
  },
  webhook(simulator, run) {
    const { json, status } = falResult(simulator, run);
    const body = JSON.stringify({
      request_id: run.id,
      gateway_request_id: run.id,
      status: status === 200 ? "OK" : "ERROR",
      payload: json,
    });
    return { body, headers: falHeaders(run.id, body) };
  },
};

function falResult(simulator: Simulator, run: SimRun): SimAnswer {
  if (run.state === "succeeded")
    return { status: 200, json: { images: [{ url: simulator.pictureUrl(run) }] } };
  if (run.state === "moderated")
    return {
      status: 422,
      json: { detail: [{ loc: ["body"], msg: "Not allowed.", type: "content_policy_violation" }] },
    };
  return { status: 500, json: { detail: "Internal error", error_type: "internal_error" } };
}

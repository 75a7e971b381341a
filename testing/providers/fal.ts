import { refusalText, type SimAnswer, type Simulator, type SimRun, type Vendor } from "./port.ts";
import { runOf } from "./requests.ts";
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
    if (!run) return { status: 404, json: { status: "NOT_FOUND", detail: "Request not found" } };
    if (pathname.endsWith("/cancel")) return cancelled(simulator, run);
    return pathname.endsWith("/status") ? statusOf(run) : falResult(simulator, run);
  },
  refusal(fault) {
    switch (fault) {
      case "rate":
        return { status: 429, json: { detail: "Too many requests" }, headers: { "retry-after": "7" } };
      case "auth":
        return { status: 401, json: { detail: "Cannot access application" } };
      case "credit":
        return { status: 403, json: { detail: "User is locked. Reason: Exhausted balance." } };
      case "input":
        return {
          status: 422,
          json: { detail: [{ loc: ["body", "prompt"], msg: "field required", type: "missing" }] },
        };
      // The queue takes any number of runs.
      case "quota":
      case "busy":
        return null;
    }
  },
  webhooks(simulator, run) {
    const { json, status } = falResult(simulator, run);
    const body = JSON.stringify({
      request_id: run.id,
      gateway_request_id: run.id,
      status: status === 200 ? "OK" : "ERROR",
      payload: json,
    });
    return [{ body, headers: falHeaders(run.id, body) }];
  },
};

function statusOf({ state }: SimRun): SimAnswer {
  if (state === "queued") return { status: 202, json: { status: "IN_QUEUE", queue_position: 0 } };
  if (state === "running") return { status: 202, json: { status: "IN_PROGRESS", logs: [] } };
  return { status: 200, json: { status: "COMPLETED", metrics: { inference_time: 1 } } };
}

/** A run that waits is taken out, one that runs is asked to stop. */
function cancelled(simulator: Simulator, run: SimRun): SimAnswer {
  if (run.state !== "queued" && run.state !== "running")
    return { status: 400, json: { status: "ALREADY_COMPLETED" } };
  const status = run.state === "queued" ? 200 : 202;
  simulator.finish(run, "cancelled");
  return { status, json: { status: "CANCELLATION_REQUESTED" } };
}

function falResult(simulator: Simulator, run: SimRun): SimAnswer {
  if (simulator.isResultGone) return { status: 404, json: { detail: "Request result not found" } };
  if (run.state === "succeeded")
    return { status: 200, json: { images: [{ url: simulator.pictureText(run) }], prompt: "p" } };
  // A black picture, which some models make instead of an error.
  if (run.state === "flagged")
    return {
      status: 200,
      json: { images: [{ url: simulator.pictureText(run) }], has_nsfw_concepts: [true], prompt: "p" },
    };
  if (run.state === "refused") return { status: 200, json: { images: [], description: refusalText } };
  if (run.state === "moderated")
    return {
      status: 422,
      json: { detail: [{ loc: ["body"], msg: "Not allowed.", type: "content_policy_violation" }] },
    };
  if (run.state === "cancelled") return failure(499, "Request was cancelled", "client_cancelled");
  return failure(500, "Internal error", "internal_error");
}

function failure(status: number, detail: string, type: string): SimAnswer {
  return { status, json: { detail, error_type: type }, headers: { "x-fal-error-type": type } };
}

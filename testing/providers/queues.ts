import { createHash, createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import type { SimAnswer, Simulator, SimRequest, SimRun, Vendor } from "./harness.ts";

/** Secrets that the simulators sign with. */
export const replicateSecret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
export const kieSecret = "kie-test-hmac-key";

const notFound: SimAnswer = {
  status: 404,
  json: { detail: "Not found.", error: "NotFound", message: "Not found" },
};
const runOf = (simulator: Simulator, id: string | undefined) => simulator.runs.get(id ?? "");
const isPost = (request: SimRequest, path: RegExp) =>
  request.method === "POST" && path.test(request.url.pathname);

function standardHeaders(secret: string, body: string): Record<string, string> {
  const id = `msg_${randomUUID()}`;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

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

async function uploaded(simulator: Simulator, answer: SimAnswer): Promise<SimAnswer> {
  const held = simulator.heldUpload;
  simulator.heldUpload = null;
  simulator.uploads += 1;
  await held;
  return answer;
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

/** The key of the simulated fal; a new one takes its place at a rotation. */
export const falKeys = { current: generateKeyPairSync("ed25519") };

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
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const digest = createHash("sha256").update(body).digest("hex");
    const message = Buffer.from([run.id, "github|1", timestamp, digest].join("\n"));
    return {
      body,
      headers: {
        "x-fal-webhook-request-id": run.id,
        "x-fal-webhook-user-id": "github|1",
        "x-fal-webhook-timestamp": timestamp,
        "x-fal-webhook-signature": sign(null, message, falKeys.current.privateKey).toString("hex"),
      },
    };
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

const fashnStatus = {
  ...replicateStatus,
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

const higgsfieldStatus = {
  ...replicateStatus,
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

const kieStatus = {
  ...replicateStatus,
  queued: "waiting",
  running: "generating",
  succeeded: "success",
  failed: "fail",
  moderated: "fail",
  cancelled: "fail",
} as const;

function kieBody(simulator: Simulator, run: SimRun) {
  const resultJson =
    run.state === "succeeded" ? JSON.stringify({ resultUrls: [simulator.pictureUrl(run)] }) : "";
  const failMsg = run.state === "moderated" ? "The content is sensitive" : "It did not work";
  return {
    code: 200,
    msg: "success",
    data: { taskId: run.id, state: kieStatus[run.state], resultJson, failMsg },
  };
}

export const kie: Vendor = {
  name: "kie",
  isSubmit: (request) => isPost(request, /createTask$/),
  handle(simulator, request) {
    const { json } = request;
    if (this.isSubmit(request)) {
      const webhookUrl = typeof json["callBackUrl"] === "string" ? json["callBackUrl"] : null;
      const run = simulator.start({ endpoint: String(json["model"]), input: json["input"], webhookUrl });
      return { status: 200, json: { code: 200, msg: "success", data: { taskId: run.id } } };
    }
    if (isPost(request, /file-base64-upload$/))
      return uploaded(simulator, {
        status: 200,
        json: { code: 200, data: { downloadUrl: `${simulator.origin}/sim-pictures/up.png` } },
      });
    const run = runOf(simulator, request.url.searchParams.get("taskId") ?? "");
    return { status: 200, json: run ? kieBody(simulator, run) : { code: 404, msg: "no such task" } };
  },
  refusal(fault) {
    const codes = { rate: 429, auth: 401, credit: 402, busy: 455 } as const;
    return { status: 200, json: { code: codes[fault], msg: fault }, headers: { "retry-after": "10" } };
  },
  webhook(simulator, run) {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac("sha256", kieSecret).update(`${run.id}.${timestamp}`).digest("base64");
    const headers = { "x-webhook-timestamp": timestamp, "x-webhook-signature": signature };
    return { body: JSON.stringify(kieBody(simulator, run)), headers };
  },
};

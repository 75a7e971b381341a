import {
  refusalText,
  type SimAnswer,
  type Simulator,
  type SimRequest,
  type SimRun,
  type Vendor,
} from "./port.ts";

/** Waits for the end of a run, as a provider does that answers with the picture. */
async function ended(simulator: Simulator, request: SimRequest): Promise<SimRun> {
  const run = simulator.start({
    endpoint: request.url.pathname,
    input: readInput(request),
    webhookUrl: null,
  });
  await new Promise<void>((resolve) => {
    const look = () => {
      if (run.state === "queued" || run.state === "running") setTimeout(look, 5);
      else resolve();
    };
    look();
  });
  return run;
}

/** A form is kept as text: tests look for the prompt in it. */
function readInput({ json, raw, headers }: SimRequest): unknown {
  return headers["content-type"]?.startsWith("multipart/") ? raw.toString("latin1").slice(0, 20_000) : json;
}

const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "55s" };

/** The quota of the day, which the delay beside it knows nothing of. */
const quotaFailure = {
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel", quotaValue: "100" }],
};

export const google: Vendor = {
  name: "google",
  isSubmit: () => true,
  async handle(simulator, request): Promise<SimAnswer> {
    const run = await ended(simulator, request);
    if (run.state === "moderated")
      return { status: 200, json: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } } };
    const candidate = (parts: readonly object[], more = {}) => ({
      status: 200,
      json: { candidates: [{ finishReason: "STOP", content: { parts }, ...more }] },
    });
    if (run.state === "refused") return candidate([{ text: refusalText }]);
    if (run.state !== "succeeded" && run.state !== "flagged") return candidate([]);
    const text = simulator.pictureText(run);
    const isAddress = simulator.pictureForm === "address";
    const data = isAddress ? (await simulator.picture()).toString("base64") : text;
    const isBlocked = run.state === "flagged";
    return candidate([{ text: "Here it is." }, { inlineData: { mimeType: "image/png", data } }], {
      safetyRatings: [{ category: "HARM_CATEGORY_SEXUALLY_EXPLICIT", blocked: isBlocked }],
    });
  },
  refusal(fault) {
    const error = (code: number, status: string, details: unknown[] = []) => ({
      status: code,
      json: { error: { code, message: status.toLowerCase(), status, details } },
    });
    switch (fault) {
      case "auth":
        return error(403, "PERMISSION_DENIED");
      case "rate":
        return error(429, "RESOURCE_EXHAUSTED", [retryInfo]);
      case "quota":
        return error(429, "RESOURCE_EXHAUSTED", [quotaFailure, retryInfo]);
      case "busy":
        return error(503, "UNAVAILABLE");
      case "input":
        return error(400, "INVALID_ARGUMENT");
      case "credit":
        return null;
    }
  },
};

export const openai: Vendor = {
  name: "openai",
  isSubmit: () => true,
  async handle(simulator, request): Promise<SimAnswer> {
    const run = await ended(simulator, request);
    const error = (code: string) => ({
      status: 400,
      json: { error: { code, type: "invalid_request_error", message: code } },
    });
    if (run.state === "moderated") return error("moderation_blocked");
    if (run.state === "failed" || run.state === "cancelled")
      return { status: 500, json: { error: { message: "failed" } } };
    const answer = (item: object) => ({ status: 200, json: { created: 1, data: [item] } });
    if (run.state === "refused")
      return { status: 200, json: { data: [], choices: [{ message: { content: refusalText } }] } };
    if (run.state === "flagged")
      return answer({
        url: simulator.pictureText(run),
        content_filter_results: { sexual: { filtered: true, severity: "high" } },
      });
    return answer(
      simulator.pictureForm === "address"
        ? { b64_json: (await simulator.picture()).toString("base64") }
        : { url: simulator.pictureText(run) },
    );
  },
  refusal(fault) {
    const error = (status: number, code: string) => ({
      status,
      json: { error: { code, type: code, message: code } },
    });
    switch (fault) {
      case "auth":
        return error(401, "invalid_api_key");
      case "credit":
        return error(429, "insufficient_quota");
      case "rate":
        return { ...error(429, "rate_limit_exceeded"), headers: { "retry-after": "20" } };
      case "input":
        return error(400, "invalid_value");
      case "quota":
      case "busy":
        return null;
    }
  },
};

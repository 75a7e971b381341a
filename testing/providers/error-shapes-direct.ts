import { type ErrorShape, json, policy } from "./error-shape.ts";

const openAi = (status: number, error: object) => json({ error }, status);
const googleError = (code: number, status: string, message: string, details: unknown[] = []) =>
  json({ error: { code, status, message, details } }, code);
const candidate = (finishReason: string, more: object = {}) =>
  json({ candidates: [{ finishReason, content: { parts: [] }, ...more }] });
const said = (text: string, finishReason = "STOP") =>
  candidate(finishReason, { content: { parts: [{ text }] } });

/** Of the providers whose answer is the result. */
export const directShapes = {
  google: [
    [
      "a refusal in words",
      "submit",
      said("I can't create that picture."),
      "moderation",
      "I can't create that picture.",
    ],
    [
      "a call that it gave up itself",
      "submit",
      json({ error: { code: 499, status: "CANCELLED", message: "The operation was cancelled." } }, 499),
      "transient",
    ],
    ["NO_IMAGE", "submit", candidate("NO_IMAGE"), "moderation", null],
    ["OTHER with words", "submit", said("Not this one.", "OTHER"), "moderation", "Not this one."],
    ["IMAGE_OTHER", "submit", candidate("IMAGE_OTHER"), "moderation"],
    ["SAFETY", "submit", candidate("SAFETY"), "moderation"],
    ["a reason that is new", "submit", candidate("IMAGE_SOMETHING_NEW"), "moderation"],
    [
      "its finish message",
      "submit",
      candidate("IMAGE_SAFETY", { finishMessage: "Unable to show it." }),
      "moderation",
      "Unable to show it.",
    ],
    ["a blocked prompt", "submit", json({ promptFeedback: { blockReason: "OTHER" } }), "moderation"],
    [
      "a blocked prompt with words",
      "submit",
      json({ promptFeedback: { blockReason: "JAILBREAK", blockReasonMessage: "Blocked." } }),
      "moderation",
      "Blocked.",
    ],
    [
      "a thought and no more",
      "submit",
      json({ candidates: [{ finishReason: "STOP", content: { parts: [{ text: "Hm", thought: true }] } }] }),
      "transient",
    ],
    ["an empty answer", "submit", json({}), "transient"],
    ["an empty candidate", "submit", candidate("STOP"), "transient"],
    ["too long an answer", "submit", candidate("MAX_TOKENS"), "input"],
    [
      "a wrong key without details",
      "submit",
      googleError(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
      "auth",
    ],
    [
      "a key that has expired",
      "submit",
      googleError(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
      "auth",
    ],
    [
      "an interface that is off",
      "submit",
      googleError(403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1."),
      "auth",
    ],
    [
      "an unknown model",
      "submit",
      googleError(404, "NOT_FOUND", "models/nothing is not found for API version v1beta."),
      "model",
    ],
    [
      "a model without pictures",
      "submit",
      googleError(400, "INVALID_ARGUMENT", "Model does not support the requested response modalities: image"),
      "model",
    ],
    [
      "a quota of nothing",
      "submit",
      googleError(
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for metric: free_tier_requests, limit: 0, model: image",
      ),
      "credit",
    ],
    [
      "billing",
      "submit",
      googleError(400, "FAILED_PRECONDITION", "Please enable billing on your project."),
      "credit",
    ],
    ["a policy", "submit", googleError(400, "INVALID_ARGUMENT", policy), "moderation", policy],
    [
      "a wrong field",
      "submit",
      googleError(400, "INVALID_ARGUMENT", "Invalid value at 'x'"),
      "input",
      "Invalid value at 'x'",
    ],
  ],
  openai: [
    [
      "a blocked prompt",
      "submit",
      openAi(400, { code: "moderation_blocked", message: policy }),
      "moderation",
      policy,
    ],
    [
      "a blocked prompt by its type",
      "submit",
      openAi(400, {
        type: "image_generation_user_error",
        code: null,
        message: "Your request was rejected by the safety system.",
      }),
      "moderation",
    ],
    [
      "a filter of Azure",
      "submit",
      openAi(400, {
        code: "contentFilter",
        message: "No.",
        inner_error: { code: "ResponsibleAIPolicyViolation" },
      }),
      "moderation",
    ],
    [
      "a filter by an inner code",
      "submit",
      openAi(400, {
        code: "BadRequest",
        message: "No.",
        innererror: { code: "ResponsibleAIPolicyViolation" },
      }),
      "moderation",
    ],
    ["an unknown model", "submit", openAi(404, { code: "model_not_found", message: "x" }), "model"],
    [
      "an unknown model as a value",
      "submit",
      openAi(400, { code: "invalid_value", message: "The model `x` does not exist." }),
      "model",
    ],
    ["another address", "submit", { status: 404, body: "<html>Not found</html>" }, "model"],
    [
      "an unverified account",
      "submit",
      openAi(403, { message: "Your organization must be verified to use the model." }),
      "model",
    ],
    ["a wrong key", "submit", openAi(401, { code: "invalid_api_key", message: "No." }), "auth"],
    [
      "an account that was closed",
      "submit",
      openAi(403, { code: "account_deactivated", message: "No." }),
      "auth",
    ],
    ["no money", "submit", openAi(429, { code: "insufficient_quota", message: "No." }), "credit"],
    [
      "a wrong field",
      "submit",
      openAi(400, { code: "invalid_value", message: "Invalid size." }),
      "input",
      "Invalid size.",
    ],
    [
      "another call at the same time",
      "submit",
      openAi(409, { message: "Conflict. Try again." }),
      "transient",
    ],
    ["a gateway that closed the call", "submit", openAi(499, { message: "Client closed request" }), "lost"],
    [
      "a model that cannot be loaded",
      "submit",
      openAi(500, { message: "could not load model - all backends returned error" }),
      "transient",
    ],
    [
      "an error with 200",
      "submit",
      json({ error: { code: "content_filter", message: "No." } }),
      "moderation",
      "No.",
    ],
    [
      "a refusal in words",
      "submit",
      json({ data: [], choices: [{ message: { refusal: "I will not." } }] }),
      "moderation",
      "I will not.",
    ],
    [
      "a flag",
      "submit",
      json({
        data: [{ url: "https://p.test/1.png", content_filter_results: { sexual: { filtered: true } } }],
      }),
      "moderation",
    ],
  ],
} as const satisfies Record<string, readonly ErrorShape[]>;

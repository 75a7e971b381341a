import type { ProviderName } from "@atelier/server/providers";
import { type ErrorShape, json, policy } from "./error-shape.ts";
import { directShapes } from "./error-shapes-direct.ts";

/** As FastAPI services word a refused field. */
const field = (msg: string, type = "value_error") => ({ detail: [{ loc: ["body", "prompt"], msg, type }] });
const prediction = (error: string) => json({ id: "run-1", status: "failed", error });
const task = (data: object) => json({ code: 200, msg: "success", data: { taskId: "run-1", ...data } });
const kieError = (code: number, msg: string) => json({ code, msg, data: null });
const fashnRun = (name: string, message: string) =>
  json({ id: "run-1", status: "failed", error: { name, message } });

/** Documented and seen forms of failures. Who has to act must come out right: the user, the operator, or neither. */
export const errorShapes: Readonly<Record<ProviderName, readonly ErrorShape[]>> = {
  ...directShapes,
  replicate: [
    [
      "an unknown model",
      "submit",
      json({ detail: "The requested resource could not be found." }, 404),
      "model",
    ],
    [
      "a version of somebody else",
      "submit",
      json(
        { title: "Invalid version or not permitted", detail: "The specified version does not exist" },
        422,
      ),
      "model",
    ],
    [
      "a wrong field",
      "submit",
      json({ title: "Input validation failed", detail: "- input: prompt is required" }, 422),
      "input",
      "- input: prompt is required",
    ],
    [
      "a wrong key",
      "submit",
      json({ title: "Unauthenticated", detail: "You did not pass a valid token." }, 401),
      "auth",
    ],
    ["no money", "submit", json({ title: "Insufficient credit", detail: "Add credit." }, 402), "credit"],
    ["a picture that is too large", "submit", json({ detail: "Too large" }, 413), "input", "Too large"],
    [
      "a filter of nakedness",
      "get",
      prediction("NSFW content detected. Try running it again."),
      "moderation",
      "NSFW content detected. Try running it again.",
    ],
    [
      "a flag of the model",
      "get",
      prediction("The input or output was flagged as sensitive. (E005)"),
      "moderation",
    ],
    ["a policy", "get", prediction(policy), "moderation", policy],
    ["an interruption", "get", prediction("Prediction interrupted; please retry (code: PA)"), "transient"],
    ["memory", "get", prediction("CUDA out of memory. Tried to allocate 2 GiB"), "transient"],
    ["a case-sensitive name", "get", prediction("KeyError: the name is case-sensitive"), "internal"],
    [
      "a sentence instead of a picture",
      "get",
      json({ id: "run-1", status: "succeeded", output: "I cannot do that, sorry." }),
      "moderation",
      "I cannot do that, sorry.",
    ],
    [
      "flags in the output",
      "get",
      json({ status: "succeeded", output: { image: "https://p.test/1.png", nsfw_content_detected: [true] } }),
      "moderation",
    ],
    [
      "a flag beside the output",
      "get",
      json({ status: "succeeded", output: ["https://p.test/1.png"], has_nsfw_concepts: true }),
      "moderation",
    ],
  ],
  fal: [
    ["an unknown model", "submit", json({ detail: "Application 'no-such' not found" }, 404), "model"],
    ["a model that was removed", "submit", json({ detail: "Gone" }, 410), "model"],
    [
      "a refused content",
      "submit",
      json(field("The content could not be processed.", "content_policy_violation"), 422),
      "moderation",
      "The content could not be processed.",
    ],
    ["a policy without its type", "submit", json(field(policy), 422), "moderation", policy],
    ["a wrong field", "submit", json(field("field required", "missing"), 422), "input", "field required"],
    ["a wrong key", "submit", json({ detail: "Cannot access application" }, 401), "auth", undefined],
    ["no money", "submit", json({ detail: "User is locked. Reason: Exhausted balance." }, 403), "credit"],
    [
      "no picture made",
      "get",
      json(field("No media was generated.", "no_media_generated"), 422),
      "moderation",
    ],
    [
      "a flag",
      "get",
      json({ images: [{ url: "https://p.test/1.png" }], has_nsfw_concepts: [true] }),
      "moderation",
    ],
    ["a flag and no picture", "get", json({ images: [], has_nsfw_concepts: [true] }), "moderation"],
    [
      "a flag of the picture",
      "get",
      json({ image: { url: "https://p.test/1.png", is_nsfw: true } }),
      "moderation",
    ],
    [
      "words alone",
      "get",
      json({ images: [], description: "I will not draw this." }),
      "moderation",
      "I will not draw this.",
    ],
    ["a service behind it", "get", json(field("away", "downstream_service_unavailable"), 422), "transient"],
  ],
  higgsfield: [
    ["an unknown model", "submit", json({ detail: "Model not found" }, 404), "model"],
    ["a locked model", "submit", json({ detail: "Locked" }, 423), "transient"],
    ["a wrong field", "submit", json(field("field required", "missing"), 422), "input", "field required"],
    ["a policy", "submit", json({ detail: policy }, 400), "moderation", policy],
    ["no money", "submit", json({ detail: "Not enough credits" }, 403), "credit"],
    ["a refused content", "get", json({ status: "nsfw" }), "moderation"],
    [
      "a refused content in words",
      "get",
      json({ status: "failed", error: "Content moderation failed" }),
      "moderation",
      "Content moderation failed",
    ],
    ["a fault", "get", json({ status: "failed", error: "boom" }), "internal"],
    [
      "a flag",
      "get",
      json({ status: "completed", images: [{ url: "https://p.test/1.png", nsfw: true }] }),
      "moderation",
    ],
  ],
  kie: [
    ["an unknown model", "submit", kieError(404, "Not Found"), "model"],
    [
      "a model that it does not know",
      "submit",
      kieError(422, "The model name you specified is not supported"),
      "model",
    ],
    ["a wrong field", "submit", kieError(422, "image_urls is required"), "input", "image_urls is required"],
    ["a policy", "submit", kieError(400, policy), "moderation", policy],
    ["a wrong key", "submit", kieError(401, "You do not have access permissions"), "auth"],
    ["no money", "submit", kieError(402, "Credits insufficient"), "credit"],
    [
      "a refused content",
      "get",
      task({ state: "fail", failMsg: "Your content was flagged" }),
      "moderation",
      "Your content was flagged",
    ],
    [
      "a wrong picture",
      "get",
      task({ state: "fail", failCode: "422", failMsg: "The picture cannot be read" }),
      "input",
      "The picture cannot be read",
    ],
    ["a fault", "get", task({ state: "fail", failCode: "500", failMsg: "boom" }), "internal"],
    [
      "a flag",
      "get",
      task({ state: "success", nsfw: true, resultJson: '{"resultUrls":["https://p.test/1.png"]}' }),
      "moderation",
    ],
    [
      "words alone",
      "get",
      task({ state: "success", resultJson: '{"resultObject":{"text":"I will not."}}' }),
      "moderation",
      "I will not.",
    ],
  ],
  fashn: [
    ["an unknown model", "submit", json({ error: "NotFound", message: "Model not found" }, 404), "model"],
    [
      "a wrong field",
      "submit",
      json({ error: "BadRequest", message: "model_image is invalid" }, 400),
      "input",
      "model_image is invalid",
    ],
    ["a wrong key", "submit", json({ error: "UnauthorizedAccess", message: "No." }, 401), "auth"],
    ["no money", "submit", json({ error: "OutOfCredits", message: "No." }, 429), "credit"],
    [
      "a refused content",
      "get",
      fashnRun("ContentModerationError", "Prohibited."),
      "moderation",
      "Prohibited.",
    ],
    ["a refusal of a new name", "get", fashnRun("NSFWError", "No."), "moderation"],
    ["a pose", "get", fashnRun("PoseError", "No pose was found."), "input", "No pose was found."],
    ["its pipeline", "get", fashnRun("PipelineError", "x"), "transient"],
    [
      "a flag",
      "get",
      json({ status: "completed", output: ["https://p.test/1.png"], nsfw: [true] }),
      "moderation",
    ],
  ],
};

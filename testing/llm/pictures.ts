import sharp from "sharp";
import { z } from "zod";
import type { LlmReply, LlmRequest } from "./llm.ts";

const part = z.looseObject({
  type: z.literal("image_url"),
  image_url: z.looseObject({ url: z.string() }),
});
const dataUrl = /^data:(image\/\w+);base64,(.+)$/;

/** A picture that was sent with a request. */
export interface SentPicture {
  readonly mime: string;
  readonly bytes: Buffer;
}

/** The pictures of a request, in their order. */
export function picturesOf({ messages }: LlmRequest): SentPicture[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.flatMap((one: unknown) => {
    const parsed = part.safeParse(one);
    const [, mime = "", base64 = ""] = (parsed.success && dataUrl.exec(parsed.data.image_url.url)) || [];
    return mime === "" ? [] : [{ mime, bytes: Buffer.from(base64, "base64") }];
  });
}

const colours: Readonly<Record<string, readonly [number, number, number]>> = {
  black: [0, 0, 0],
  white: [255, 255, 255],
  red: [220, 30, 30],
  green: [30, 160, 60],
  blue: [40, 60, 210],
  yellow: [240, 220, 40],
  violet: [140, 40, 190],
  orange: [240, 140, 30],
};

const farFrom = (a: readonly number[], b: readonly number[]) =>
  Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)));

/** A SIMULATED description: the colour that the pixels have on average, so that a test sees which picture was sent. */
export async function describeByColour(picture: SentPicture): Promise<string> {
  const { channels } = await sharp(picture.bytes).stats();
  const means = channels.slice(0, 3).map(({ mean }) => mean);
  const [name = "grey"] =
    Object.entries(colours).toSorted((a, b) => farFrom(means, a[1]) - farFrom(means, b[1]))[0] ?? [];
  const { width, height } = await sharp(picture.bytes).metadata();
  return `A SIMULATED description of a mostly ${name} picture, ${width} by ${height}.`;
}

/** The answer to a request with a picture; null without one. */
export async function answerToPicture(request: LlmRequest): Promise<LlmReply | null> {
  const [picture] = picturesOf(request);
  return picture ? { text: await describeByColour(picture), wordMs: 2 } : null;
}

const refusal = (status: number, body: unknown): LlmReply => ({ status, body });
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

/** How servers with a model that takes no pictures refuse one. */
export const pictureRefusals: Readonly<Record<string, LlmReply>> = {
  "llama.cpp": refusal(
    500,
    error("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", {
      code: 500,
      type: "server_error",
    }),
  ),
  "llama.cpp of 2025": refusal(
    500,
    error("image input is not supported by this server", { code: 500, type: "server_error" }),
  ),
  "llama.cpp of before": refusal(
    500,
    error('Failed to parse messages: Unsupported content part type: "image_url"; messages = [...]', {
      code: 500,
    }),
  ),
  Ollama: refusal(400, error("this model does not support image input", { type: "invalid_request_error" })),
  "Ollama of before": refusal(
    500,
    error(
      "Failed to create new sequence: failed to process inputs: this model is missing data required for image input",
    ),
  ),
  vLLM: refusal(400, {
    object: "error",
    message: "simulated is not a multimodal model",
    type: "BadRequestError",
    param: null,
    code: 400,
  }),
  "vLLM without pictures": refusal(
    400,
    error("At most 0 image(s) may be provided in one prompt.", { type: "BadRequestError", code: 400 }),
  ),
  "LM Studio": refusal(400, { error: "Model does not support images. Please use a model that does." }),
  "a server in Rust": refusal(
    422,
    error("Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"),
  ),
  "a server of texts": refusal(422, {
    detail: [
      { loc: ["body", "messages", 0, "content"], msg: "content must be a string", type: "string_type" },
    ],
  }),
  mlx_lm: refusal(404, { error: "Only 'text' content type is supported." }),
  "a gateway": refusal(404, error("No endpoints found that support image input", { code: 404 })),
  "a server in Python": refusal(500, { detail: 'can only concatenate str (not "list") to str' }),
  "a server in Go": refusal(400, error("invalid message content type: []interface {}")),
  "a server with its own words": refusal(400, error("simulated is a text-only model.")),
  "a server without its vision tower": refusal(
    400,
    error("Images are not supported: vision tower not loaded"),
  ),
};

/** How servers answer while the model is not there: nothing is wrong with what they were sent. */
export const absentModels: Readonly<Record<string, LlmReply>> = {
  "LM Studio without a model": refusal(
    400,
    error("No models loaded. Please load a model in the developer page or use the 'lms load' command.", {
      type: "invalid_request_error",
      param: "model",
    }),
  ),
  "LM Studio that has just unloaded it": refusal(400, { error: "Model unloaded." }),
  "LM Studio whose model crashed": refusal(400, {
    error: "The model has crashed without additional information. (Exit code: 18446744072635812000)",
  }),
  "LM Studio that cannot load it": refusal(
    400,
    error('Failed to load model "eyes". Error: insufficient resources'),
  ),
  "a worker that is gone": refusal(400, { error: "Channel Error" }),
  "Ollama without the model": refusal(404, error('model "eyes" not found, try pulling it first')),
  vLLM: refusal(404, error("The model `eyes` does not exist.", { type: "NotFoundError", code: 404 })),
  "a server of models": refusal(400, error("eyes is an unknown model", { code: "model_not_found" })),
};

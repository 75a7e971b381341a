import { createReadStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { optionalInputs } from "../../engines.ts";
import { type AnswerFormat, maskOfHoles, withFilePermit, uploadLimits } from "../../images/index.ts";
import { AppError, flagOfText, isId, pictureLimits } from "../../platform/index.ts";
import { type GivenPicture, pictureOfText } from "../clients/orders.ts";
import { parseBody, readBody, withoutNothing } from "../clients/picture-bodies.ts";
import type { ClientInput } from "../clients/route.ts";
import { type MultipartRules, type ReceivedFile, withParts } from "../http/multipart.ts";

/** Forms have texts alone. */
const number = z.union([
  z.number(),
  z
    .string()
    .trim()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number),
]);
const flag = z.union([z.boolean(), z.string().trim().toLowerCase().pipe(flagOfText)]);
const whole = number.refine(Number.isInteger, "must be a whole number");
const between = (min: number, max: number) =>
  whole.refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`);

/** One of some names, in the case of any library. */
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.string().trim().toLowerCase().pipe(z.enum(names));

const maxPictures = 10;

const fields = {
  prompt: z.string().trim().min(1).max(pictureLimits.promptCharacters),
  model: z.string().max(200).optional(),
  n: between(1, maxPictures).default(1),
  size: z
    .string()
    .trim()
    .toLowerCase()
    .transform((text) => text.replace(/^(\d+) *[*×x] *(\d+)$/, "$1x$2"))
    .refine(
      (text) => /^(?:auto|\d{2,4}x\d{2,4})$/.test(text),
      "must be auto, or a width and a height such as 1024x1024",
    )
    .default("auto"),
  quality: oneOf(["auto", "low", "medium", "high", "standard", "hd"]).default("auto"),
  style: z.string().optional(),
  background: oneOf(["auto", "opaque", "transparent"]).default("auto"),
  moderation: z.string().optional(),
  user: z.string().max(500).optional(),
  input_fidelity: z.string().optional(),
  response_format: oneOf(["b64_json", "url"]).optional(),
  output_format: z
    .string()
    .transform((text) => text.trim().toLowerCase().replace(/^jpg$/, "jpeg"))
    .pipe(z.enum(["png", "jpeg", "webp"]))
    .default("png"),
  output_compression: between(0, 100).optional(),
  stream: flag.default(false),
  partial_images: between(0, 3).default(0),
  /** Ours: what the API itself has no fields for. */
  max_price_usd: number.refine((value) => value >= 0, "must not be negative").optional(),
  negative_prompt: z.string().optional(),
  /** Programs ask for any seed by -1. */
  seed: whole.transform((seed) => (seed < 0 ? undefined : seed)).optional(),
  steps: whole.optional(),
  guidance: number.optional(),
  strength: number.optional(),
};

/** An address, also in an object, as in the messages of chats. */
const address = z.union([z.string(), z.looseObject({ url: z.string() }).transform(({ url }) => url)]);
const reference = z.looseObject({ image_url: address.optional(), file_id: z.string().optional() });
const sentPicture = z.union([z.string().min(1), reference]);

const generationSchema = z.looseObject(fields);
const editSchema = z.looseObject({
  ...fields,
  image: z.union([sentPicture, z.array(sentPicture)]).optional(),
  images: z.array(sentPicture).optional(),
  mask: sentPicture.optional(),
});

type Fields = z.output<typeof generationSchema>;

/** A request in the words of the studio. */
export interface Asked extends Pick<Fields, "prompt" | "model" | "n" | "user" | "stream" | "quality"> {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly maxPriceUsd: number | null;
  readonly format: AnswerFormat;
  /** 1..100; undefined without loss. */
  readonly compression: number | undefined;
  readonly isLink: boolean;
  readonly partialImages: number;
  /** What is asked and cannot be done, one sentence each. */
  readonly notes: readonly string[];
}

export interface AskedEdit extends Asked {
  readonly pictures: readonly GivenPicture[];
  readonly mask: GivenPicture | null;
}

const headerPrice = z.coerce.number().min(0);

function toAsked(body: Fields, headers: Headers): Asked {
  refuseImpossible(body);
  const { prompt, model, n, user, stream, quality, size, output_format: format } = body;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size) ?? [];
  const sized = width === undefined ? {} : { width: Number(width), height: Number(height) };
  const given = {
    negativePrompt: body.negative_prompt,
    seed: body.seed,
    steps: body.steps,
    guidance: body.guidance,
    strength: body.strength,
  };
  const own = headerPrice.safeParse(headers.get("x-max-price-usd") ?? undefined);
  // DALL·E's models answered with addresses unless they were asked for the bytes.
  const isLink = (body.response_format ?? (/^dall-e/i.test(model ?? "") ? "url" : "b64_json")) === "url";
  const compression = format === "png" ? undefined : body.output_compression;
  return {
    prompt,
    model,
    n,
    user,
    stream,
    quality,
    format,
    isLink,
    settings: {
      ...sized,
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    },
    maxPriceUsd: body.max_price_usd ?? (own.success ? own.data : null),
    compression: compression === undefined ? undefined : Math.max(1, compression),
    partialImages: body.partial_images,
    notes: notesOf(body),
  };
}

function refuseImpossible({ background, stream, response_format: answer, size }: Fields): void {
  if (background === "transparent")
    throw wrong(
      "background",
      "No model here paints a transparent background. Remove it from the finished picture instead.",
    );
  if (stream && answer === "url") throw wrong("response_format", "A stream has the pictures as b64_json.");
  if (/\b0\d|^0/.test(size))
    throw wrong("size", "size must be auto, or a width and a height such as 1024x1024.");
}

/** An error about one field. */
export function wrong(param: string, message: string): AppError {
  return new AppError("bad_request", message, { details: { param } });
}

const known = new Set([...Object.keys(editSchema.shape), "image[]", "api-version"]);

function notesOf(body: Fields): string[] {
  const { quality, style, moderation, input_fidelity: fidelity } = body;
  const unknown = Object.keys(body).filter((name) => !known.has(name));
  return [
    ...(["auto", "standard"].includes(quality)
      ? []
      : [`quality ${quality} is not known here: the model's own settings decide.`]),
    ...(style === undefined ? [] : ["style is not known here: write it in the prompt."]),
    ...(moderation === undefined ? [] : ["moderation is not known here: the operator's rules apply."]),
    ...(fidelity === undefined
      ? []
      : ["input_fidelity is not known here: strength says how much may change."]),
    ...(body.output_format === "png" && (body.output_compression ?? 100) < 100
      ? ["output_compression means nothing for png."]
      : []),
    ...(unknown.length === 0 ? [] : [`Not known here and left out: ${unknown.join(", ")}.`]),
  ];
}

/** Reads POST images/generations. Throws `bad_request`, `request_too_large`. */
export async function readGeneration(input: ClientInput): Promise<Asked> {
  const body = await readBody(input, z.preprocess(withoutNothing, generationSchema));
  return toAsked(body, input.request.headers);
}

/** The roles that an edit has for pictures beside the one to change. */
export const referenceRoles = optionalInputs("edit").filter((role) => role !== "mask");

/** Before they are read: each may be large. */
function requireFew(pictures: number): void {
  const most = referenceRoles.length + 1;
  if (pictures > most) throw wrong("image", `At most ${most} pictures are taken.`);
}

const rules: MultipartRules = {
  files: { image: uploadLimits.files, mask: 1 },
  // Libraries number the parts of a list, or add brackets to each.
  nameOf: (part) => part.replace(/\[\d*\]$/, "").replace(/^images$/, "image"),
  fields: 40,
  fieldBytes: 32_768,
};

/** Reads POST images/edits, JSON or a form, whose files exist until `work` is done. Throws what `ingest` throws for its mask. */
export async function withEdit<T>(input: ClientInput, work: (asked: AskedEdit) => Promise<T>): Promise<T> {
  const { services, request, caller } = input;
  if (!/^multipart\//i.test(request.headers.get("content-type") ?? "")) {
    const body = await readBody(input, z.preprocess(withoutNothing, editSchema));
    const sent = [body.image ?? [], body.images ?? []].flat();
    requireFew(sent.length);
    const pictures = sent.map(toPicture);
    const mask = body.mask === undefined ? null : await toMask(caller.userId, toPicture(body.mask));
    return work({ ...toAsked(body, request.headers), pictures, mask });
  }
  return withParts(services, { request, caller, rules }, async (parts) => {
    const body = parseBody(generationSchema, withoutNothing(Object.fromEntries(parts.fields)));
    requireFew(parts.files.filter(({ part }) => part === "image").length);
    const pictures: GivenPicture[] = [];
    let mask: GivenPicture | null = null;
    for (const file of parts.files) {
      const picture = await pictureOfPart(caller.userId, file);
      if (file.part === "mask") mask = await toMask(caller.userId, picture);
      else pictures.push(picture);
    }
    return work({ ...toAsked(body, request.headers), pictures, mask });
  });
}

/**
 * A part without the name of a file may have what JSON would have: base64, an address or an id. What it decodes to takes the place of
 * its text, so that few parts are in memory at a time.
 */
async function pictureOfPart(ownerId: string, { path, name }: ReceivedFile): Promise<GivenPicture> {
  if (name !== "" || !isText(await buffer(createReadStream(path, { end: 63 })))) return { bytes: path, name };
  return withFilePermit({ ownerId, weight: "light" }, async () => {
    const picture = pictureOfText(await readFile(path, "utf8"), isId);
    if (!("bytes" in picture)) return picture;
    await writeFile(path, picture.bytes);
    return { bytes: path, name };
  });
}

/** No picture begins with so many letters, but for an SVG. */
const isText = (start: Buffer) => /^\s*[^<\s][\s!-~]*$/.test(start.toString("latin1"));

function toPicture(sent: z.output<typeof sentPicture>): GivenPicture {
  if (typeof sent === "string") return pictureOfText(sent, isId);
  const { image_url: url, file_id: id } = sent;
  if (url !== undefined) return pictureOfText(url, isId);
  if (id !== undefined && isId(id)) return { id };
  throw wrong(
    "image",
    "file_id is the id of a picture of this studio; other files are sent as image_url or in a form.",
  );
}

/** The API's mask is transparent where the picture may change, the studio's is white there. */
async function toMask(ownerId: string, given: GivenPicture): Promise<GivenPicture> {
  if ("id" in given) return given;
  if ("url" in given) throw wrong("mask", "The mask is sent as a data address or in a form.");
  const { bytes } = given;
  const mask = await maskOfHoles(ownerId, typeof bytes === "string" ? await readFile(bytes) : bytes);
  if (!mask) throw wrong("mask", "The mask has no transparency: what may change has to be transparent.");
  return { bytes: mask };
}

import sharp from "sharp";
import { addressBelow, keyHeaders, modelsAddress } from "../platform/index.ts";
import { callProvider, maxPictureBytes as maxBytes, type ProviderAnswer } from "./http.ts";
import { outputsOf } from "./outputs.ts";
import { isPicture } from "./pictures.ts";
import {
  type InputValue,
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type ProviderPicture,
  type RunState,
  type Submission,
} from "./port.ts";
import { readError, readRecord, readText } from "./read.ts";
import { isContentRefusal, kindOfRefusal, madeRun, statusError, withoutTask } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";

const timeoutMs = 170_000;

/** A server of one's own may need no key. */
const auth = ({ baseUrl, apiKey }: ProviderAccess) => keyHeaders(baseUrl, apiKey);

/**
 * Any server with the images API of OpenAI: a submission without pictures goes to `/images/generations`, one with
 * pictures to `/images/edits`. One request, which answers with the picture.
 */
export const openai: ProviderClient = {
  name: "openai",
  isAsynchronous: false,
  isIdempotent: () => false,
  freeCall: (access) => ({ url: modelsAddress(access.baseUrl), headers: auth(access) }),

  async submit(access, submission, signal) {
    const { endpoint, input, idempotencyKey, beforePaid } = submission;
    const counts = Object.values(input).map((value) => picturesOf(value).length);
    const isEdit = counts.some((count) => count > 0);
    const send = (body: unknown) =>
      callProvider({
        method: "POST",
        url: addressBelow(access.baseUrl, `/images/${isEdit ? "edits" : "generations"}`),
        headers: auth(access),
        body,
        signal,
        beforePaid,
        timeoutMs,
        maxBytes,
      });
    let answer = await send(isEdit ? await toForm(submission, "[]") : { model: endpoint, ...input });
    // Refused for the name of a field it has made nothing.
    if (counts.some((count) => count > 1) && lacksImage(answer))
      answer = await send(await toForm(submission, ""));
    const json = answer.json ?? endOf(answer.events);
    if (answer.status !== 200) throw refusal({ ...answer, json });
    const handle = { endpoint, externalId: idempotencyKey, urls: {} };
    if (answer.picture)
      return { handle, run: { state: "succeeded", outputs: [{ bytes: answer.picture }], costUsd: null } };
    // A page of a proxy says nothing about the picture behind it, which may be paid.
    if (json === undefined) throw new ProviderError("lost", "The answer is no JSON.");
    const run = toRun({ ...answer, json: withAddresses(json, access.baseUrl) });
    return { handle, run: withCost(run, statedUsd(json)) };
  },

  get: () => Promise.reject(new ProviderError("lost", "The provider keeps no runs.")),
  cancel: () => Promise.resolve("unsupported"),
  verifyWebhook: () => Promise.reject(new ProviderError("auth", "The provider sends no webhooks.")),
};

function picturesOf(value: InputValue): ProviderPicture[] {
  if (isPicture(value)) return [value];
  return Array.isArray(value) ? value.flatMap(picturesOf) : [];
}

const isOnTheWay = (event: Readonly<Record<string, unknown>>) =>
  /partial|progress/i.test(`${readText(event["type"])} ${readText(event["object"])}`) ||
  Object.keys(event).some((name) => name.startsWith("partial_image"));

/**
 * What a gateway that streams an answer has said at its end: the pictures of the last kind of event that has any, beside
 * them an error. Pictures on the way are none; undefined without an end, since the picture may be made and paid.
 */
function endOf(events: readonly unknown[]): unknown {
  const told = events.map(readRecord).filter((event) => !isOnTheWay(event));
  const fault = told.find(isFailed);
  const made = told.filter((event) => event !== fault && outputsOf(event).length > 0);
  const last = made.at(-1);
  if (last === undefined) return fault;
  const ofLast = made.filter(({ type }) => type === last["type"]);
  return ofLast.length === 1 && !fault ? last : { ...last, ...fault, data: ofLast };
}

/** Some servers name their pictures by a path of their own, in the usual list or without the object around it. */
function withAddresses(json: unknown, baseUrl: string): unknown {
  if (Array.isArray(json)) return json.map((item: unknown) => withAddress(item, baseUrl));
  const { data } = readRecord(json);
  return Array.isArray(data) ? { ...readRecord(json), data: withAddresses(data, baseUrl) } : json;
}

/** A path, and no base64 of a JPEG, which begins with a slash as well. */
const pathForm = /^\.{0,2}\/(?!9j\/)[^\s]{1,2000}$/;

function withAddress(item: unknown, baseUrl: string): unknown {
  const { url } = readRecord(item);
  if (typeof url !== "string" || !pathForm.test(url)) return item;
  const address = URL.parse(url, addressBelow(baseUrl, "/images/"));
  return address ? { ...readRecord(item), url: address.href } : item;
}

/**
 * Servers of this interface differ in where the pictures are; some answer 200 with an error in the body. A picture beside
 * an error was made and is paid, such as one of two.
 */
function toRun(answer: ProviderAnswer): RunState {
  const body = readRecord(answer.json);
  const json = isFailed(body) ? answer.json : withoutTask(answer.json);
  const { data, choices } = readRecord(json);
  const others = isFailed(body) ? placesOf(body) : json;
  const read = madeRun(Array.isArray(data) && data.length > 0 ? data : others, body);
  const hasMade = read.state === "failed" ? read.error.isCharged : hasOutputs(read);
  if (hasMade) return read;
  if (isFailed(body)) return refused(answer);
  if (read.state !== "succeeded") return read;
  const words = sentenceOf(choices) ?? refusedState(body);
  if (words === null) throw new ProviderError("internal", "The answer has no picture.");
  return {
    state: "failed",
    error: new ProviderError("moderation", `No picture: ${words}`, { words }),
    costUsd: null,
  };
}

/** The state of a run that its server has refused: "Content Moderated". */
function refusedState({ status }: Readonly<Record<string, unknown>>): string | null {
  const state = readText(status);
  return state !== null && isContentRefusal(state) ? state : null;
}

/** Of a run that is paid. */
function withCost(run: RunState, costUsd: number | null): RunState {
  if (costUsd === null) return run;
  if (run.state === "succeeded" || (run.state === "failed" && run.error.isCharged))
    return { ...run, costUsd };
  return run;
}

const ticksPerUsd = 1e10;
const maxTicks = 1_000 * ticksPerUsd;

/** What the call cost by the answer itself, as xAI names it: in a member whose name has the unit. */
function statedUsd(json: unknown): number | null {
  const { cost_in_usd_ticks: ticks } = readRecord(readRecord(json)["usage"]);
  return typeof ticks === "number" && ticks > 0 && ticks < maxTicks ? ticks / ticksPerUsd : null;
}

const hasOutputs = (run: RunState) => run.state === "succeeded" && run.outputs.length > 0;

/** Beside an error other members may hold an address, such as that of its documentation. */
const placesOf = ({ data, images, image, output, choices }: Readonly<Record<string, unknown>>) => ({
  data,
  images,
  image,
  output,
  choices,
});

const isFailed = ({ error }: Readonly<Record<string, unknown>>) =>
  typeof error === "string" ? error !== "" : typeof error === "object" && error !== null;

function refused(answer: ProviderAnswer): RunState {
  return { state: "failed", error: refusal({ ...answer, status: 400 }), costUsd: null };
}

/** Whether a form is refused since a field `image` is missing: some servers know no list `image[]` of several pictures. */
function lacksImage({ status, json }: ProviderAnswer): boolean {
  const isOfForm = status === 400 || status === 422;
  return (
    isOfForm && (missingPlace.test(JSON.stringify(json) ?? "") || missingWords.test(sentenceOf(json) ?? ""))
  );
}

const missingPlace = /"loc":\["body","image"(?:,0)?\]/;
const missingWords =
  /^(?:.{0,80}:)?\W*(?:field required|missing (?:required )?(?:parameter|field|argument))\W{1,4}image\W*$/i;

/** `ofList` follows the name of a field with several pictures. */
async function toForm({ endpoint, input }: Submission, ofList: "[]" | ""): Promise<FormData> {
  const form = new FormData();
  form.set("model", endpoint);
  for (const [name, value] of Object.entries(input)) {
    const pictures = picturesOf(value);
    if (name === "mask" && pictures[0]) form.set(name, toBlob(await toAlphaMask(pictures[0])), "mask.png");
    else if (pictures.length > 0)
      for (const [at, picture] of pictures.entries())
        form.append(
          pictures.length > 1 ? `${name}${ofList}` : name,
          toBlob(picture),
          `${name}-${at}.${extensionOf(picture)}`,
        );
    else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      form.set(name, String(value));
  }
  return form;
}

/** Some servers go by the name of a file instead of its type. */
function extensionOf({ mime }: ProviderPicture): string {
  return mime.slice("image/".length);
}

function toBlob({ bytes, mime }: ProviderPicture): Blob {
  return new Blob([new Uint8Array(bytes)], { type: mime });
}

/** Our masks are grey, white where the picture changes; OpenAI's are transparent there. */
async function toAlphaMask({ bytes }: ProviderPicture): Promise<ProviderPicture> {
  const { data, info } = await sharp(bytes)
    .toColourspace("b-w")
    .removeAlpha()
    .extractChannel(0)
    .negate()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const rgb = { create: { width, height, channels: 3, background: "black" } } as const;
  const made = await sharp(rgb)
    .joinChannel(data, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
  return { bytes: made, mime: "image/png" };
}

/** Classes of the codes and types of errors. */
const classesByCode: readonly (readonly [RegExp, ProviderErrorClass])[] = [
  [/content_policy|content_?filter|moderation|ResponsibleAI/i, "moderation"],
  [/insufficient_(?:\w+_)?(?:quota|balance)|billing|arrearage/i, "credit"],
  [/model_not_found/, "model"],
  [/invalid_api_key|deactivated|access_terminated|unsupported_country/, "auth"],
];

function refusal(answer: ProviderAnswer): ProviderError {
  const error = readError(answer.json);
  const inner = readRecord(error["inner_error"] ?? error["innererror"]);
  const codes = [error["code"], error["type"], inner["code"]].map((code) => readText(code) ?? "").join(" ");
  const words = readText(error["message"]) ?? sentenceOf(answer.json);
  const byCode = classesByCode.find(([pattern]) => pattern.test(codes))?.[1];
  const byWords = classOfWords(answer, words ?? "");
  // Some gateways give all that speaks of a policy the code of refused content.
  const known = byWords === "auth" ? byWords : (byCode ?? byWords);
  if (known === null) return statusError(answer, true);
  return new ProviderError(known, `HTTP ${answer.status}: ${words ?? answer.excerpt}`, { words });
}

function classOfWords({ status, sent }: ProviderAnswer, words: string): ProviderErrorClass | null {
  if (status !== 400 && status !== 403 && status !== 422) return null;
  return kindOfRefusal(words, sent);
}

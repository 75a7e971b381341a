import { type InputRole, optionalInputs, requiredInputs } from "../../engines.ts";
import { get, type JobView, submitWithUrls } from "../../jobs/index.ts";
import { AppError, isId, lineOfText } from "../../platform/index.ts";
import { type CloudModel, findModel, lackOf, modelsOf } from "../../providers/index.ts";
import { problemResponse } from "../http/route.ts";
import { asOneOfFew } from "../requests.ts";
import { type Fields, readFields, renamed, settingsOf } from "./job-server.ts";
import type { ClientApi, ClientInput, ClientRoute } from "./route.ts";

const keySchema = lineOfText.min(1).max(200);

/** POST /api/generations/create */
const createRoute: ClientRoute = {
  method: "post",
  path: "/create",
  operationId: "clientCreateGeneration",
  handle: createGeneration,
};

async function createGeneration({ services, caller, request }: ClientInput): Promise<Response> {
  const { modelId, input, ownOnly, agreed } = await readFields(request);
  if (typeof modelId !== "string" || modelId === "")
    throw new AppError("bad_request", "modelId is required.");
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw new AppError("bad_request", "input must be an object.");
  const model = findModel(modelsOf(services.config), modelId);
  if (!model) throw new AppError("model_unknown", `There is no model "${modelId}".`);
  const key = keySchema.optional().safeParse(request.headers.get("idempotency-key") ?? undefined);
  if (!key.success) throw new AppError("bad_request", "The Idempotency-Key has at most 200 characters.");
  const { id } = await submitWithUrls(
    services,
    { ...requestOf(model, { ...input }), ownOnly, agreed },
    {
      submitter: caller,
      signal: request.signal,
      inPlace: (work) => asOneOfFew({ services, caller }, "fetch", work),
      ...(key.data === undefined ? {} : { idempotencyKey: key.data }),
    },
  );
  return Response.json({ id, status: "queued" }, { status: 201 });
}

/** The request of the studio for an input in the words of providers. What has no meaning here is kept in the metadata. */
function requestOf(model: CloudModel, input: Fields): Record<string, unknown> {
  const { kind } = model;
  const { pictures, others } = takePictures(model, renamed(input));
  const { prompt, aspect_ratio: ratio, ...fields } = others;
  const sized =
    model.kind === "text_to_image" || model.kind === "edit" ? { ...sizeOf(ratio), ...fields } : fields;
  const settings = settingsFor(model, settingsOf(kind, sized), sized);
  const unused = Object.entries(others).filter(([name]) => name !== "prompt" && !(name in settings));
  return {
    kind,
    model: model.id,
    inputs: pictures,
    params: { ...(prompt === undefined ? {} : { prompt }), ...settings },
    ...(unused.length > 0 ? { metadata: Object.fromEntries(unused) } : {}),
  };
}

/**
 * The settings that the model takes: another one costs itself alone. A category in a provider's own words is understood; a
 * model that has to be told one gets what such clients sent before there was a choice.
 */
function settingsFor(model: CloudModel, settings: Fields, input: Fields): Record<string, unknown> {
  const own = input["garment_type"] ?? input["cloth_type"] ?? input["category"];
  const category = typeof own === "string" ? categoryWords[own.toLowerCase()] : undefined;
  const told = category === undefined ? settings : { ...settings, category };
  const needed =
    model.kind === "outfit_change" && lackOf(model, { category: told["category"] }) !== null
      ? { ...told, category: lackOf(model, { category: "top" }) === null ? "top" : "auto" }
      : told;
  const taken = Object.entries(needed).filter(
    ([name, value]) => name === "category" || lackOf(model, { [name]: value }) === null,
  );
  return Object.fromEntries(taken);
}

const categoryWords: Readonly<Record<string, string>> = {
  upper_body: "top",
  upper: "top",
  tops: "top",
  lower_body: "bottom",
  lower: "bottom",
  bottoms: "bottom",
  dresses: "dress",
  overall: "dress",
  "one-pieces": "dress",
};

const sizePx = 1_024;

/** Width and height of a ratio such as `16:9`, with about a megapixel; nothing for another text. */
function sizeOf(ratio: unknown): { width?: number; height?: number } {
  const [, across, down] = (typeof ratio === "string" && /^(\d{1,2}):(\d{1,2})$/.exec(ratio)) || [];
  const root = Math.sqrt(Number(across) / Number(down));
  if (!(root > 0.2 && root < 5)) return {};
  const side = (px: number) => Math.round(px / 8) * 8;
  return { width: side(sizePx * root), height: side(sizePx / root) };
}

/** Names of pictures: these alone, or with `_url`, `_image` or the like at the end. */
const plainRoles: Readonly<Record<string, InputRole>> = {
  image: "image",
  images: "image",
  mask: "mask",
  person: "person",
  garment: "garment",
  reference: "reference",
};

/** Names that mean a picture only with such an end. */
const suffixedRoles: Readonly<Record<string, InputRole>> = {
  input: "image",
  init: "image",
  model: "person",
  human: "person",
  garm: "garment",
  product: "garment",
};

function roleOf(name: string): InputRole | undefined {
  const plain = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  const bare = plain.replace(/_urls?$/, "").replace(/_(?:image|img)s?$/, "");
  return plainRoles[bare] ?? (bare === plain ? undefined : suffixedRoles[bare]);
}

interface TakenPictures {
  readonly pictures: Readonly<Record<string, unknown>>;
  readonly others: Fields;
}

/** Separates the pictures that the model takes from the other members. Each is an address or the id of an upload. */
function takePictures({ kind }: CloudModel, input: Fields): TakenPictures {
  const taken = new Set<string>([...requiredInputs(kind), ...optionalInputs(kind)]);
  const pictures: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    const role = roleOf(name);
    const [first, second] = Array.isArray(value) ? (value as unknown[]) : [value];
    if (role === undefined || !taken.has(role) || typeof first !== "string") others[name] = value;
    else {
      pictures[role] = pictureOf(first);
      if (typeof second === "string" && taken.has("reference")) pictures["reference"] = pictureOf(second);
    }
  }
  return { pictures, others };
}

const pictureOf = (text: string) => (isId(text) ? text : { url: text });

/** GET /api/generations/:id */
const getRoute: ClientRoute = {
  method: "get",
  path: "/:id",
  operationId: "clientGetGeneration",
  async handle({ services, caller, params }) {
    const job = await get(services, { ownerId: caller.userId, id: params["id"] ?? "" });
    return Response.json(toGeneration(job), { headers: { "cache-control": "no-store" } });
  },
};

function toGeneration(job: JobView) {
  const { id, status, model, progress, error, outputs, createdAt, endedAt } = job;
  return {
    id,
    modelId: model,
    status: status === "pending" || status === "waiting_for_engine" ? "queued" : status,
    progress,
    images: outputs.map(({ imageId }) => ({
      id: imageId,
      url: `/api/v1/images/${imageId}/file?variant=original`,
    })),
    error: error && { code: error.code, message: error.message },
    createdAt,
    completedAt: endedAt,
  };
}

/** Generations by the id of a model, as clients of a server with a queue of providers ask for them. */
export const generationsApi: ClientApi = {
  routes: [createRoute, getRoute],
  isSwitched: false,
  errorResponse: problemResponse,
};

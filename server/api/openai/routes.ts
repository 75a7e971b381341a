import type { JobKind } from "../../engines.ts";
import { openFile, readAs } from "../../images/index.ts";
import { findLeftPurchase, kindParams, readCapabilities } from "../../jobs/index.ts";
import { readSigned } from "../../links/index.ts";
import { AppError } from "../../platform/index.ts";
import { type Choice, defaultChoice, findChoice, readChoices } from "../clients/choices.ts";
import { awaitOrder, type Order, placeOrder } from "../clients/orders.ts";
import type { ClientApi, ClientInput, ClientRoute, OpenRoute } from "../clients/route.ts";
import { servedStream } from "../http/streams.ts";
import { admitNetwork } from "../requests.ts";
import { answerLater, answerPictures, errorResponse, type Ordered, streamPictures } from "./answer.ts";
import { type Asked, type AskedEdit, readGeneration, referenceRoles, withEdit, wrong } from "./request.ts";

const makingKinds = ["text_to_image"] as const satisfies readonly JobKind[];
const editingKinds = ["edit", "inpaint"] as const satisfies readonly JobKind[];

/** Every model has a time; none of ours is known. */
const createdS = 1_700_000_000;

const toModel = ({
  id,
  title,
  kind,
  priceUsd,
}: Pick<Choice, "id" | "title" | "priceUsd"> & { kind: string }) => ({
  id,
  object: "model",
  created: createdS,
  owned_by: "atelier",
  name: title,
  atelier: { kind, price_usd: priceUsd },
});

async function readModels({ services }: ClientInput) {
  const choices = await readChoices(services, [...makingKinds, ...editingKinds]);
  const usable = choices.filter(({ isLive }) => isLive);
  const chosen = { id: defaultChoice, title: "The studio chooses", kind: "any", priceUsd: 0 };
  return [chosen, ...usable].map(toModel);
}

/** GET /v1/models: what can run now. */
const listRoute: ClientRoute = {
  method: "get",
  path: "/models",
  operationId: "openaiListModels",
  async handle(input) {
    return Response.json({ object: "list", data: await readModels(input) });
  },
};

/** GET /v1/models/{model}, whose name has a slash, sent as it is or as %2F. */
const modelRoute: ClientRoute = {
  method: "get",
  path: "/models/:model{.+}",
  operationId: "openaiGetModel",
  async handle(input) {
    const name = input.params["model"] ?? "";
    const model = (await readModels(input)).find(({ id }) => id === name);
    if (!model) throw new AppError("model_unknown", `The model "${name}" does not exist.`);
    return Response.json(model);
  },
};

interface Wish {
  readonly kind: JobKind;
  readonly choice: Choice | null;
  readonly pictures: Order["pictures"];
}

function orderOf(asked: Asked, { kind, choice, pictures }: Wish, maxPriceUsd: number): Order {
  const taken = Object.entries(asked.settings).filter(([name]) => name in kindParams[kind].shape);
  return {
    kind,
    choice,
    pictures,
    params: { prompt: asked.prompt, ...Object.fromEntries(taken) },
    count: asked.n,
    maxPriceUsd,
    sessionId: "openai",
    metadata: asked.user === undefined ? {} : { user: asked.user },
  };
}

interface Made {
  readonly input: ClientInput;
  readonly asked: Asked;
  readonly type: Ordered["type"];
}

async function place(
  { input, asked, type }: Made,
  kinds: readonly JobKind[],
  wish: (choice: Choice | null) => Promise<Wish>,
) {
  const { choice, maxPriceUsd, note } = findChoice(await readChoices(input.services, kinds), asked.model);
  const order = orderOf(asked, await wish(choice), asked.maxPriceUsd ?? maxPriceUsd ?? 0);
  const placed = await placeOrder(input, {
    ...order,
    requireWanted: (inputs) => requireUnbought(input, order, inputs),
  });
  const notes = note === null ? asked.notes : [note, ...asked.notes];
  return { ...placed, type, asked: { ...asked, notes } };
}

/**
 * The official packages repeat a request by themselves that got no answer, as behind a proxy which waits shortly. It would buy again
 * what the first has bought. Throws `conflict`.
 */
async function requireUnbought(
  { services, caller, request }: ClientInput,
  { kind, params, maxPriceUsd, sessionId }: Order,
  inputs: Readonly<Record<string, string>>,
): Promise<void> {
  if (!(Number(request.headers.get("x-stainless-retry-count")) > 0) || maxPriceUsd === 0) return;
  const asked = { ownerId: caller.userId, kind, sessionId, prompt: String(params["prompt"]), inputs };
  const id = await findLeftPurchase(services, asked);
  if (id === null) return;
  throw new AppError(
    "conflict",
    `The program's package repeated this request by itself. The first one was left without its answer when its picture was bought: job ${id}. Send it anew to buy another, with a longer timeout or Prefer: respond-async.`,
  );
}

async function answer(input: ClientInput, ordered: Ordered): Promise<Response> {
  if (ordered.asked.stream) return streamPictures(input, ordered);
  const jobs = await awaitOrder(input, ordered);
  return jobs ? answerPictures(input, ordered, jobs) : answerLater(ordered);
}

/** POST /v1/images/generations */
const generationsRoute: ClientRoute = {
  method: "post",
  path: "/images/generations",
  operationId: "openaiCreateImage",
  async handle(input) {
    const asked = await readGeneration(input);
    const made = { input, asked, type: "image_generation" } as const;
    const wish = (choice: Choice | null) =>
      Promise.resolve({ kind: "text_to_image" as const, choice, pictures: [] });
    return answer(input, await place(made, makingKinds, wish));
  },
};

/** POST /v1/images/edits */
const editsRoute: ClientRoute = {
  method: "post",
  path: "/images/edits",
  operationId: "openaiEditImage",
  async handle(input) {
    const ordered = await withEdit(input, (edit) => {
      // Pictures and mask stay in memory until they are stored, and no longer.
      const { pictures: _pictures, mask: _mask, ...asked } = edit;
      return place({ input, asked, type: "image_edit" }, editingKinds, async (choice) => ({
        choice,
        kind: choice?.kind ?? (await kindOf(input, edit)),
        pictures: picturesOf(edit, choice?.kind ?? null),
      }));
    });
    return answer(input, ordered);
  },
};

/** A mask is for inpainting where an engine does that by words, else a model for edits gets it. */
async function kindOf({ services }: ClientInput, { mask, pictures }: AskedEdit): Promise<JobKind> {
  if (!mask || pictures.length > 1) return "edit";
  const { items } = await readCapabilities(services, { mayUseCloud: true });
  const engines = items.find(({ kind }) => kind === "inpaint")?.engines ?? [];
  return engines.some((engine) => engine === "comfyui" || engine === "cloud") ? "inpaint" : "edit";
}

function picturesOf({ pictures, mask }: AskedEdit, kind: JobKind | null): Order["pictures"] {
  const [image, ...references] = pictures;
  if (!image) throw wrong("image", "Send the picture to change as image.");
  if (kind === "inpaint" && !mask) throw wrong("mask", "This model needs a mask.");
  if (kind === "inpaint" && references.length > 0) throw wrong("image", "This model takes one picture.");
  return [
    { role: "image", picture: image },
    ...references.flatMap((picture, at) => {
      const role = referenceRoles[at];
      return role ? [{ role, picture }] : [];
    }),
    ...(mask ? [{ role: "mask" as const, picture: mask }] : []),
  ];
}

/** POST /v1/images/variations: as the API answers for a model that cannot do it. */
const variationsRoute: ClientRoute = {
  method: "post",
  path: "/images/variations",
  operationId: "openaiCreateVariation",
  handle: () =>
    Promise.reject(
      new AppError(
        "bad_request",
        "Variations are not supported. Send the picture to /v1/images/edits with a prompt.",
        {
          details: { param: "model" },
        },
      ),
    ),
};

/** GET /v1/images/files/{signed}: the address that `response_format: "url"` gave. */
const fileRoute: OpenRoute = {
  method: "get",
  path: "/images/files/:signed",
  operationId: "openaiImageFile",
  async handle({ services, params, request }) {
    await admitNetwork(services, request.headers, "visits");
    const { id, ownerId, note } = await readSigned(services, params["signed"] ?? "");
    const format = note === "jpeg" || note === "webp" ? note : "png";
    const headers = {
      "content-type": `image/${format}`,
      "cache-control": "private, no-store",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex, nofollow",
    };
    if (format !== "png" && request.method !== "HEAD")
      return new Response(await readAs(services, { id, ownerId }, format), { headers });
    const { body } = await openFile(services, {
      id,
      ownerId,
      variant: "original",
      isHead: request.method === "HEAD",
    });
    return new Response(body && servedStream(services, body, () => Promise.resolve()), { headers });
  },
};

const whatIsHere =
  "Only models and pictures are served here: /v1/models, /v1/images/generations and /v1/images/edits.";

/** OpenAI's API of pictures. */
export const openaiApi: ClientApi = {
  routes: [listRoute, modelRoute, generationsRoute, editsRoute, variationsRoute],
  openRoutes: [fileRoute],
  isSwitched: false,
  errorResponse,
  unroutedResponse: ({ code, message }) => errorResponse(new AppError(code, `${message} ${whatIsHere}`)),
};

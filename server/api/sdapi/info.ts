import { z } from "zod";
import { a1111Sampler, a1111Scheduler } from "../../carried/index.ts";
import { inspect, isPng, readPngTexts } from "../../images/index.ts";
import { cancel, jobSource, type JobView, list, listJobsSchema } from "../../jobs/index.ts";
import { feedOf } from "../../live/index.ts";
import { readListedNames, readProgramModel } from "../../scheduling/index.ts";
import { type Choice, defaultChoice, findChoice, readChoices } from "../clients/choices.ts";
import { pictureSchema, readBody } from "../clients/picture-bodies.ts";
import type { ClientInput, ClientRoute } from "../clients/route.ts";
import { sdapiKinds } from "./options.ts";
import { sdapiSession } from "./request.ts";

const get = (path: string, operationId: string, read: (input: ClientInput) => unknown): ClientRoute => ({
  method: "get",
  path: `/sdapi/v1/${path}`,
  operationId,
  handle: async (input) => Response.json(await read(input)),
});

/** Of the extension of that name: none of it is here. */
const controlnet = (path: string, operationId: string, nothing: object): ClientRoute => ({
  method: "get",
  path: `/controlnet/${path}`,
  operationId,
  handle: () => Promise.resolve(Response.json(nothing)),
});

/** The choice of the studio first: some programs take the first one by themselves, and cannot start without any. */
async function readModels({ services }: ClientInput) {
  const choices = await readChoices(services, sdapiKinds);
  const live = choices.filter(({ isLive }) => isLive).map(({ id }) => id);
  return [defaultChoice, ...live].map((id) => ({
    title: id,
    model_name: id,
    hash: null,
    sha256: null,
    filename: id,
    config: null,
  }));
}

/** The model that the user's programs chose, and the one that text to image would take now. */
async function readOwnChoice({ services, caller }: ClientInput) {
  const [chosen, choices] = await Promise.all([
    readProgramModel(services.db, caller.userId),
    readChoices(services, ["text_to_image"]),
  ]);
  const [first] = choices;
  try {
    return { choice: findChoice(choices, chosen ?? undefined).choice, first };
  } catch {
    return { choice: null, first };
  }
}

function readListedOf(
  { services }: ClientInput,
  choice: Choice | null | undefined,
): ReturnType<typeof readListedNames> {
  if (!choice || !("workflow" in choice.named)) return Promise.resolve({});
  return readListedNames(services.db, choice.named.workflow);
}

/** Those of the chosen model by the names of that server; without one the workflow decides. */
async function readSamplers(input: ClientInput) {
  const { sampler = [] } = await readListedOf(input, (await readOwnChoice(input)).choice);
  const own = sampler.map((name) => ({ name: a1111Sampler(name), aliases: [name], options: {} }));
  return [workflowSampler, ...own];
}

async function readSchedulers(input: ClientInput) {
  const { scheduler = [] } = await readListedOf(input, (await readOwnChoice(input)).choice);
  const own = scheduler.map((name) => ({ ...automatic, name, label: a1111Scheduler(name) }));
  return [automatic, ...own];
}

/** Those of the chosen workflow, else of the one that text to image would take now. */
async function readOwnLoras(input: ClientInput) {
  const { choice, first } = await readOwnChoice(input);
  const { loras = [] } = await readListedOf(input, choice ?? first);
  return loras.map((name) => {
    const stem = (name.split(/[\\/]/).at(-1) ?? name).replace(/\.\w+$/, "");
    return { name: stem, alias: stem, path: name, metadata: {} };
  });
}

const openJobs = ({ services, caller }: ClientInput) =>
  list(services, {
    ...listJobsSchema.parse({ status: "open", sessionId: sdapiSession, limit: 100 }),
    ownerId: caller.userId,
  });

/** How far the pictures are that programs of the user wait for now; the preview where this process follows the run. */
async function readProgress(input: ClientInput) {
  const { items } = await openJobs(input);
  const running = items.find(({ status }) => status === "processing") ?? items.at(-1);
  const none = { progress: 0, eta_relative: 0, current_image: null, textinfo: null };
  const ofRun = running ? progressOf(input, running) : { ...none, run: { job: "" } };
  const { run, ...facts } = ofRun;
  const idle = { job_timestamp: "0", sampling_step: 0, sampling_steps: 0, job_no: 0 };
  const flags = { skipped: false, interrupted: false, stopping_generation: false };
  return { ...facts, state: { ...flags, ...idle, ...run, job_count: items.length } };
}

function progressOf({ services, query }: ClientInput, job: JobView) {
  const live = feedOf(services).lastLive(jobSource, job.id);
  const seen = live?.type === "progress" ? live : { progress: 0, preview: null };
  const progress = Math.max(job.progress, seen.progress);
  const steps = Number(job.params["steps"] ?? 0);
  const longestMs = job.estimate?.runMs[1] ?? 0;
  const wantsImage = query["skip_current_image"] !== "true" && seen.preview !== null;
  return {
    progress,
    eta_relative: Math.round((longestMs * (1 - progress)) / 1_000),
    current_image: wantsImage ? (seen.preview?.split(",")[1] ?? null) : null,
    textinfo: job.stage,
    run: {
      job: job.id,
      job_timestamp: job.createdAt.replaceAll(/\D/g, "").slice(0, 14),
      sampling_step: Math.round(steps * progress),
      sampling_steps: steps,
    },
  };
}

/** POST interrupt and skip: the open pictures of the user's programs are cancelled. */
const interruptRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/interrupt",
  operationId: "sdapiInterrupt",
  async handle(input) {
    const { items } = await openJobs(input);
    for (const { id } of items) await cancel(input.services, { ownerId: input.caller.userId, id });
    return Response.json(null);
  },
};

const pngSchema = z.looseObject({ image: pictureSchema });
const maxTextChars = 20_000;

/** POST png-info: the texts of a PNG. */
const pngInfoRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/png-info",
  operationId: "sdapiPngInfo",
  right: "read",
  async handle(input) {
    const { image } = await readBody(input, pngSchema);
    await inspect(image, { scaleDown: true });
    const texts = isPng(image) ? readPngTexts(image) : [];
    const items = Object.fromEntries(
      texts.map(({ keyword, text }) => [keyword, text.slice(0, maxTextChars).toWellFormed()]),
    );
    const info = items["parameters"] ?? "";
    return Response.json({ info, items, parameters: readParameters(info) });
  },
};

/** `prompt\nNegative prompt: words\nSteps: 20, Size: 512x512` */
function readParameters(text: string): Record<string, string> {
  if (text === "") return {};
  const [words = "", settings = ""] = text.split(/\n(?=Steps: |CFG scale: |Seed: |Size: |Model: )/);
  const [prompt = "", negative = ""] = words.split("\nNegative prompt: ");
  const pairs = [...settings.matchAll(/(?<![\w ])([\w ]{1,50}): ("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)/g)].map(
    ([, name = "", value = ""]): [string, string] => [name.trim(), value],
  );
  return { Prompt: prompt, "Negative prompt": negative, ...Object.fromEntries(pairs) };
}

/** What is done here by itself, or has no meaning: the answer is that of a server that did it. */
const nothingToDo = [
  "refresh-checkpoints",
  "refresh-loras",
  "refresh-vae",
  "reload-checkpoint",
  "unload-checkpoint",
];

const workflowSampler = { name: "Workflow", aliases: ["workflow"], options: {} };
const automatic = {
  name: "automatic",
  label: "Automatic",
  aliases: null,
  default_rho: -1,
  need_inner_model: false,
};
const upscaler = { name: "Atelier", model_name: null, model_path: null, model_url: null, scale: 4 };

/** What programs ask for when they start: what the studio has, in the shapes of that server. */
export const infoRoutes: readonly ClientRoute[] = [
  get("sd-models", "sdapiModels", readModels),
  get("loras", "sdapiLoras", readOwnLoras),
  get("progress", "sdapiProgress", readProgress),
  get("samplers", "sdapiSamplers", readSamplers),
  get("schedulers", "sdapiSchedulers", readSchedulers),
  get("upscalers", "sdapiUpscalers", () => [upscaler]),
  get("latent-upscale-modes", "sdapiLatentUpscaleModes", () => []),
  get("sd-vae", "sdapiVae", () => []),
  get("sd-modules", "sdapiModules", () => []),
  get("hypernetworks", "sdapiHypernetworks", () => []),
  get("face-restorers", "sdapiFaceRestorers", () => []),
  get("realesrgan-models", "sdapiRealesrganModels", () => []),
  get("prompt-styles", "sdapiPromptStyles", () => []),
  get("embeddings", "sdapiEmbeddings", () => ({ loaded: {}, skipped: {} })),
  get("scripts", "sdapiScripts", () => ({ txt2img: [], img2img: [] })),
  get("script-info", "sdapiScriptInfo", () => []),
  get("extensions", "sdapiExtensions", () => []),
  // Plug-ins ask for them at their start and cannot go on without an answer in JSON.
  controlnet("model_list", "controlnetModels", { model_list: [] }),
  controlnet("module_list", "controlnetModules", { module_list: [], module_detail: {} }),
  get("cmd-flags", "sdapiCmdFlags", () => ({ api: true, nowebui: true })),
  get("memory", "sdapiMemory", () => ({ ram: {}, cuda: {} })),
  interruptRoute,
  { ...interruptRoute, path: "/sdapi/v1/skip", operationId: "sdapiSkip" },
  pngInfoRoute,
  ...nothingToDo.map((name): ClientRoute => ({
    method: "post",
    path: `/sdapi/v1/${name}`,
    operationId: `sdapi${name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    right: "read",
    handle: () => Promise.resolve(Response.json(null)),
  })),
];

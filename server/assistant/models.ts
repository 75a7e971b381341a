import { hasTextModel, textModel } from "../meaning/index.ts";
import { type Config, type Env, isOwnNetwork } from "../platform/index.ts";

/** The stages that call a model. */
export type ModelStage = "analyzer" | "responder" | "archivist";

/** Where a model is called: the part of its id before the first slash. */
const hosts = ["anthropic", "google", "openai", "local", "onboard"] as const;
export type Host = (typeof hosts)[number];

/** A model of a stage with all that a call of it needs to know. */
export interface StageModel {
  /** `<host>/<name>` */
  readonly id: string;
  /** Undefined for models that refuse sampling parameters. */
  readonly temperature: number | undefined;
  readonly maxOutputTokens: number;
  /** Until the first sign of an answer; of embeddings, for the whole call. */
  readonly timeoutMs: number;
  /** Between two signs of an answer that is being written. */
  readonly silenceMs: number;
  /** The whole of an answer, however steadily it grows. */
  readonly longestMs: number;
  /** US dollars per million tokens. */
  readonly price: { readonly inputUsd: number; readonly outputUsd: number; readonly isKnown: boolean };
}

/** A server at home loads a model from its disk first, and reads a long question for minutes. */
const usualLimitsS = {
  vendor: { analyzer: 15, responder: 30, archivist: 60, silence: 30 },
  local: { analyzer: 90, responder: 300, archivist: 300, silence: 120 },
} as const;
const longestMs = 30 * 60_000;
/** The analyzer is a help, so a question waits for it this many times its limit at the most. */
const analyzerLengths = 2;

const envNames = {
  analyzer: "LLM_ANALYZER_MODEL",
  responder: "LLM_RESPONDER_MODEL",
  archivist: "LLM_ARCHIVIST_MODEL",
} as const satisfies Record<ModelStage, keyof Env>;

/** Cheap models for analysis and summaries, strong ones for answers. Names age: docs/assistant.md says how to change them. */
const usualModels: readonly { readonly host: Host; readonly cheap: string; readonly strong: string }[] = [
  { host: "anthropic", cheap: "claude-haiku-5-5", strong: "claude-sonnet-5-5" },
  { host: "google", cheap: "gemini-3.5-flash-lite", strong: "gemini-3.8-flash" },
  { host: "openai", cheap: "gpt-5.4-nano", strong: "gpt-5.6-sol" },
];

/** Why a stage has no model, for the admin and the log. */
export interface NoModel {
  readonly problem: string;
}

type Settings = { readonly env: Env; readonly config: Pick<Config, "assistant"> };

/** The model of a stage, or why there is none. */
export function findStageModel({ env, config }: Settings, stage: ModelStage): StageModel | NoModel {
  const named = env[envNames[stage]] ?? config.assistant[stage].model;
  const id = named === null || named === undefined ? usualModelOf({ env, config }, stage) : idOf(named);
  if (id === null) return { problem: "No key of a language model is set." };
  const host = hostOf(id);
  const problem = problemOf(env, id);
  if (problem !== null) return { problem };
  const { maxOutputTokens, timeoutS, silenceS, temperature } = config.assistant[stage];
  const usual = usualLimitsS[host === "local" ? "local" : "vendor"];
  const timeoutMs = (timeoutS ?? usual[stage]) * 1_000;
  const refuses = config.assistant.withoutSampling.some((start) => id.startsWith(start));
  return {
    id,
    temperature: refuses || temperature === null ? undefined : temperature,
    maxOutputTokens,
    timeoutMs,
    silenceMs: (silenceS ?? usual.silence) * 1_000,
    longestMs: stage === "analyzer" ? Math.min(longestMs, timeoutMs * analyzerLengths) : longestMs,
    price: priceOf({ env, config }, id),
  };
}

/** Why a model cannot answer; null when it can. */
function problemOf(env: Env, id: string): string | null {
  const host = hostOf(id);
  if (host === "onboard") return `${id} is no model that answers.`;
  return hasAccess(env, host) ? null : `${id} needs ${keyNames[host]}.`;
}

/** The model of embeddings. */
export interface VectorModel extends StageModel {
  /** Names the vectors: the model with all that changes them. */
  readonly key: string;
  /** What the model wants before a question and before what is searched. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  /** Whether its vectors of messages know who spoke: questions often name speakers. */
  readonly knowsSpeakers: boolean;
}

/** The added text model: it needs no key and costs nothing. */
const onboardId = `onboard/${textModel.name}`;

/** Whether a question may cost: its own stages do, or the memory and the vectors that are made of it later. */
export function mayQuestionsCost(settings: Settings): boolean {
  const stages = (["analyzer", "responder", "archivist"] as const).map((stage) =>
    stageModel(settings, stage),
  );
  return [...stages, vectorModel(settings)].some(
    (model) => model !== null && model.price.inputUsd + model.price.outputUsd > 0,
  );
}

/** The model of embeddings, or why it cannot be used; without a named one the added text model, null without that, too. */
export function findVectorModel({ env, config }: Settings): VectorModel | NoModel | null {
  const { model, dimensions, timeoutS } = config.assistant.embedding;
  const named = env.LLM_EMBEDDING_MODEL ?? model ?? (hasTextModel(env) ? onboardId : null);
  if (named === null) return null;
  const id = idOf(named);
  const host = hostOf(id);
  if (host === "onboard" && (id !== onboardId || !hasTextModel(env)))
    return { problem: `${id} is not on this computer: atelier models add text-model FILE.` };
  const { queryPrefix, documentPrefix } = host === "onboard" ? onboardPrefixes : config.assistant.embedding;
  if (host === "anthropic") return { problem: "Anthropic has no models of embeddings." };
  if (!hasAccess(env, host)) return { problem: `${id} needs ${keyNames[host]}.` };
  return {
    id,
    key: JSON.stringify([id, dimensions, documentPrefix]),
    queryPrefix,
    documentPrefix,
    knowsSpeakers: host === "onboard",
    temperature: undefined,
    maxOutputTokens: 0,
    timeoutMs: timeoutS * 1_000,
    silenceMs: timeoutS * 1_000,
    longestMs: timeoutS * 1_000,
    price: priceOf({ env, config }, id),
  };
}

/** The turn in which pictures are described. */
export const describerTurn = "descriptions of pictures";
/** What a description takes at most, with what a model thinks before it. */
const describerTokens = 1_200;
const describerLongestMs = 10 * 60_000;

/** The model that describes pictures; null without one. `inspectEnv` lets none through that may cost or is elsewhere. */
export function visionModel({ env, config }: Settings): StageModel | null {
  const named = env.LLM_VISION_MODEL;
  if (named === undefined || env.LLM_BASE_URL === undefined) return null;
  const id = idOf(named);
  const price = priceOf({ env, config }, id);
  if (hostOf(id) !== "local" || price !== free) return null;
  const { archivist: timeoutS, silence: silenceS } = usualLimitsS.local;
  return {
    id,
    temperature: 0.2,
    maxOutputTokens: describerTokens,
    timeoutMs: timeoutS * 1_000,
    silenceMs: silenceS * 1_000,
    longestMs: describerLongestMs,
    price,
  };
}

/** Whether pictures are sent to a model that answers, as the settings say. */
export function takesPictures({ env, config }: Settings, id: string): boolean {
  const named = config.assistant.takesPictures;
  if (named.length === 0) return false;
  const describer = env.LLM_VISION_MODEL;
  return named.some((start) => id.startsWith(start)) || (describer !== undefined && idOf(describer) === id);
}

/** Of a model of one's own. */
const ownNetwork = "own";

const vendorHosts: Readonly<Record<string, Host>> = {
  "api.anthropic.com": "anthropic",
  "api.openai.com": "openai",
};

/**
 * The recipient of what a model is sent: a vendor, the host name of a gateway or rented server, or `ownNetwork`. A gateway of the own network
 * hands on what it gets for a model of a vendor.
 */
export function recipientOf(settings: Pick<Settings, "env">, id: string): string {
  const host = hostOf(id);
  const url = addressOf(settings.env, host);
  // Nothing can be sent to an address that is none.
  if (url === undefined || !URL.canParse(url) || isCalledNearby(settings, id))
    return host === "local" ? ownNetwork : host;
  const { hostname } = new URL(url);
  return vendorHosts[hostname] ?? hostname;
}

/** Whether a model is called at a server of the own network. */
export function isCalledNearby({ env }: Pick<Settings, "env">, id: string): boolean {
  const url = addressOf(env, hostOf(id));
  if (url === undefined) return hostOf(id) === "local";
  return URL.canParse(url) && isOwnNetwork(url, env.ALLOWED_PRIVATE_HOSTS);
}

/** Where models of a host are called; undefined where that is the package's matter alone. */
export function addressOf(env: Env, host: Host): string | undefined {
  if (host === "local") return env.LLM_BASE_URL;
  if (host === "anthropic") return env.ANTHROPIC_BASE_URL;
  return host === "openai" ? env.OPENAI_BASE_URL : undefined;
}

const onboardPrefixes = { queryPrefix: "query: ", documentPrefix: "passage: " };

/** The model of embeddings; null without one. */
export function vectorModel(settings: Settings): VectorModel | null {
  const found = findVectorModel(settings);
  return found === null || "problem" in found ? null : found;
}

/** The model of a stage; null without one. */
export function stageModel(settings: Settings, stage: ModelStage): StageModel | null {
  const found = findStageModel(settings, stage);
  return "problem" in found ? null : found;
}

/** The variable that gives access to a host. */
export const keyNames = {
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  openai: "OPENAI_API_KEY",
  local: "LLM_BASE_URL",
  onboard: "ATELIER_DATA_DIR",
} as const satisfies Record<Host, keyof Env>;

function hasAccess(env: Env, host: Host): boolean {
  return env[keyNames[host]] !== undefined;
}

/** Models of a server of one's own need no host: `llama3.2` is `local/llama3.2`. */
function idOf(name: string): string {
  return hosts.some((host) => name.startsWith(`${host}/`)) ? name : `local/${name}`;
}

export function hostOf(id: string): Host {
  const host = hosts.find((name) => id.startsWith(`${name}/`));
  return host ?? "local";
}

/** Without a named model: that of the first vendor with a key, else the responder's of the own server. */
function usualModelOf({ env, config }: Settings, stage: ModelStage): string | null {
  const usual = usualModels.find(({ host }) => hasAccess(env, host));
  if (usual) return `${usual.host}/${stage === "responder" ? usual.strong : usual.cheap}`;
  const named = env.LLM_RESPONDER_MODEL ?? config.assistant.responder.model;
  return named === null || named === undefined ? null : idOf(named);
}

const free = { inputUsd: 0, outputUsd: 0, isKnown: true };

/** A server on the own network costs nothing; one elsewhere may, whatever its address is called here. */
function priceOf({ env, config: { assistant } }: Settings, id: string): StageModel["price"] {
  if (hostOf(id) === "onboard") return free;
  if (hostOf(id) === "local" && isCalledNearby({ env }, id)) return free;
  const start = Object.keys(assistant.prices)
    .filter((prefix) => id.startsWith(prefix))
    .toSorted((a, b) => b.length - a.length)[0];
  const known = start === undefined ? undefined : assistant.prices[start];
  const assumed = assistant.assumedUsdPerMillion;
  return known ? { ...known, isKnown: true } : { inputUsd: assumed, outputUsd: assumed, isKnown: false };
}

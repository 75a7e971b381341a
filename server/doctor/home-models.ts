import {
  addressBelow,
  type Config,
  type Env,
  explain,
  keyHeaders,
  modelsAddress,
  parseForeignJson,
} from "../platform/index.ts";
import { type CheckResult, failed, passed, untried, warned } from "./checks.ts";
import { ask, type Answer, isPage, member, type SeenClock, wordsOf } from "./other-side.ts";
import { saidNo } from "./outside.ts";

export interface Round {
  readonly env: Env;
  readonly config: Pick<Config, "assistant">;
  readonly clocks: SeenClock[];
}

/** One model with all the stages that it serves. */
export interface Served {
  readonly id: string;
  readonly isFree: boolean;
  readonly stages: readonly string[];
}

export const vectors = "embeddings";
export const pictures = "pictures";

export const nameOf = (id: string) => id.slice(id.indexOf("/") + 1);

export const keyOf = ({ LLM_BASE_URL: base = "", LLM_API_KEY: key }: Env) => keyHeaders(base, key);

const version = /\/v\d+\w*(?=\?|$)/;

/** Where the API of a server at home begins: its address as it is set, or with `/v1`. */
async function findApi({ env, clocks }: Round): Promise<{ base: string; answer: Answer }> {
  const base = env.LLM_BASE_URL ?? "";
  const tries = version.test(base) ? [base] : [base, addressBelow(base, "/v1")];
  let first: { base: string; answer: Answer } | undefined;
  for (const one of tries) {
    const answer = await ask(modelsAddress(one), { headers: keyOf(env) }, clocks);
    first ??= { base: one, answer };
    if (Array.isArray(member(answer.json, "data"))) return { base: one, answer };
  }
  return first ?? { base, answer: await ask(modelsAddress(base), { headers: keyOf(env) }) };
}

const nameAdvice = "correct the name of the model or LLM_BASE_URL";
const addressAdvice = "correct LLM_BASE_URL: it must lead to a server with the chat API of OpenAI";

export async function checkLocal(round: Round, name: string, model: Served): Promise<CheckResult[]> {
  const { base, answer: list } = await findApi(round);
  if (list.status === 401 || list.status === 403) return [saidNo(name, list, "correct LLM_API_KEY")];
  if (isPage(list))
    return [{ ...failed(name, `answers with a web page; ${addressAdvice}`), said: wordsOf(list) }];
  const listed = member(list.json, "data");
  const names = Array.isArray(listed) ? listed.map((one) => String(member(one, "id"))) : null;
  if (!model.isFree) {
    if (names === null) return [saidNo(name, list, addressAdvice)];
    return [
      passed(name, `its server has ${names.length} models; nothing was asked of it, as it may cost money`),
    ];
  }
  const api: Api = {
    base,
    key: keyOf(round.env),
    model: nameOf(model.id),
    signal: AbortSignal.timeout(modelMs),
  };
  if (model.stages.includes(vectors)) return [await checkVectors(name, api)];
  const isListed = names === null || names.includes(api.model);
  const advice = isListed ? nameAdvice : `${nameAdvice}; it has ${names.slice(0, 8).join(", ")}`;
  const { contextTokens } = round.config.assistant;
  const ofPictures = model.stages.includes(pictures) ? [await checkPictures(name, api, advice)] : [];
  if (model.stages.every((stage) => stage === pictures)) return ofPictures;
  return [...(await checkChat(name, api, { listed, advice, contextTokens })), ...ofPictures];
}

interface Api {
  readonly base: string;
  readonly key: Readonly<Record<string, string>>;
  readonly model: string;
  /** Ends all that is asked of the model. */
  readonly signal: AbortSignal;
}

const modelMs = 25_000;
/** A server at home may have to load the model first. */
const chatMs = 20_000;
const featureMs = 6_000;

function post(
  { base, key, model, signal }: Api,
  path: string,
  body: object,
  timeoutMs: number,
): Promise<Answer> {
  const headers = { "content-type": "application/json", ...key };
  return ask(addressBelow(base, `/${path}`), {
    method: "POST",
    headers,
    body: JSON.stringify({ model, ...body }),
    timeoutMs,
    signal,
  });
}

async function checkVectors(name: string, api: Api): Promise<CheckResult> {
  const answer = await post(api, "embeddings", { input: ["a test"] }, chatMs);
  const vector = member([member(answer.json, "data")].flat()[0], "embedding");
  if (answer.status !== 200 || !Array.isArray(vector))
    return saidNo(name, answer, "correct LLM_EMBEDDING_MODEL, or unset it");
  return passed(name, `makes vectors of ${vector.length} numbers`);
}

/** Asks for a picture of one colour. Its answer says whether the server takes pictures, not whether it sees them well. */
async function checkPictures(name: string, api: Api, advice: string): Promise<CheckResult> {
  const { default: sharp } = await import("sharp");
  const jpeg = await sharp({ create: { width: 64, height: 64, channels: 3, background: "#dc1e1e" } })
    .jpeg()
    .toBuffer();
  const url = `data:image/jpeg;base64,${jpeg.toString("base64")}`;
  const content = [
    { type: "image_url", image_url: { url } },
    { type: "text", text: "Answer with the colour of this picture in one word." },
  ];
  const body = { messages: [{ role: "user", content }], max_tokens: 16 };
  const answer = await post(api, "chat/completions", body, chatMs);
  if (isAnswer(answer)) return passed(name, "takes pictures, which are described by it");
  return saidNo(name, answer, `name a model that takes pictures in LLM_VISION_MODEL, or ${advice}`);
}

const messages = [{ role: "user", content: 'Answer with the JSON object {"ok":true} and nothing else.' }];

interface Feature {
  readonly title: string;
  readonly body: object;
  readonly path?: (answer: Answer) => boolean;
  /** What the studio does without it. */
  readonly without: string;
}

const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
const features: readonly Feature[] = [
  {
    title: "streaming",
    body: { stream: true, max_tokens: 16 },
    path: ({ text }) => /^(data|event):/m.test(text),
    without: "answers come at once, at their end",
  },
  {
    title: "tools",
    body: {
      max_tokens: 16,
      tools: [{ type: "function", function: { name: "ping", description: "A test", parameters: schema } }],
    },
    without: "the assistant reads what it needs before the answer instead",
  },
  {
    title: "JSON",
    body: { max_tokens: 64, response_format: { type: "json_schema", json_schema: { name: "test", schema } } },
    path: isJsonAnswer,
    without: "JSON is asked for in words",
  },
];

/** A thinking model may use up the few tokens before it answers. */
function isJsonAnswer({ json }: Answer): boolean {
  const choice = [member(json, "choices")].flat()[0];
  const content = member(choice, "message", "content");
  return member(choice, "finish_reason") === "length" || parseForeignJson(String(content)) instanceof Object;
}

const isAnswer = ({ status, json }: Answer) => status === 200 && Array.isArray(member(json, "choices"));

interface Known {
  /** What the list of models says about each; undefined without a list. */
  readonly listed: unknown;
  /** For a model that does not answer, with the names of the others if it is not among them. */
  readonly advice: string;
  readonly contextTokens: number;
}

async function checkChat(
  name: string,
  api: Api,
  { listed, advice, contextTokens }: Known,
): Promise<CheckResult[]> {
  const startedAt = performance.now();
  const chat = await post(api, "chat/completions", { messages, max_tokens: 16 }, chatMs);
  if (!isAnswer(chat)) return [saidNo(name, chat, advice)];
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const results: CheckResult[] = [];
  const works: string[] = [];
  // One after the other: a server at home answers one at a time.
  for (const feature of features) {
    if (api.signal.aborted) {
      results.push(untried(`${name}, ${feature.title}`, "the model was too slow for it"));
      continue;
    }
    const lack = await tryFeature(api, feature);
    if (lack === null) works.push(feature.title);
    else
      results.push({
        ...warned(`${name}, ${feature.title}`, `does not work; ${feature.without}`),
        said: lack,
      });
  }
  const context = await readContext(api, listed);
  const answered = `answers within ${seconds} s`;
  const also = works.length === 0 ? "" : `; ${works.join(", ")} ${works.length === 1 ? "works" : "work"}`;
  return [judgeContext(name, `${answered}${also}`, context, contextTokens), ...results];
}

async function tryFeature(api: Api, { body, path = isAnswer }: Feature): Promise<string | null> {
  try {
    const answer = await post(api, "chat/completions", { messages, ...body }, featureMs);
    return answer.status === 200 && path(answer) ? null : wordsOf(answer) || `HTTP ${answer.status}`;
  } catch (error) {
    return explain(error);
  }
}

function judgeContext(name: string, message: string, context: number | null, wanted: number): CheckResult {
  if (context === null) return passed(name, `${message}; the server does not tell its context`);
  const told = `${message}; context of ${context} tokens`;
  if (context >= wanted) return passed(name, told);
  return warned(
    name,
    `${told}, and up to ${wanted} are sent; start the server with more, or lower assistant.contextTokens`,
  );
}

/** The context that the server works with, as far as it tells: vLLM, llama.cpp, Ollama and LM Studio each have their own place. */
async function readContext(api: Api, listed: unknown): Promise<number | null> {
  const root = api.base.replace(version, "");
  const mine = [listed].flat().find((one) => member(one, "id") === api.model);
  const ofList = member(mine, "max_model_len") ?? member(mine, "context_length");
  if (typeof ofList === "number") return ofList;
  const asked = { headers: api.key, timeoutMs: featureMs, signal: api.signal };
  const body = JSON.stringify({ model: api.model });
  const settled = await Promise.allSettled([
    ask(addressBelow(root, "/props"), asked),
    ask(addressBelow(root, "/api/ps"), asked),
    ask(addressBelow(root, "/api/show"), { ...asked, method: "POST", body }),
    ask(addressBelow(root, `/api/v0/models/${encodeURIComponent(api.model)}`), asked),
  ]);
  const [props, loaded, show, studio] = settled.map((one) =>
    one.status === "fulfilled" ? one.value.json : undefined,
  );
  const running = [member(loaded, "models")]
    .flat()
    .find((one) => String(member(one, "name")).startsWith(api.model));
  const told = [
    member(props, "default_generation_settings", "n_ctx"),
    member(running, "context_length"),
    Number(/num_ctx\s+(\d+)/.exec(JSON.stringify(member(show, "parameters") ?? ""))?.[1]),
    member(studio, "loaded_context_length"),
  ];
  return told.find((value): value is number => typeof value === "number" && value > 0) ?? null;
}

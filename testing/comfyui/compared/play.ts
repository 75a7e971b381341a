import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type JsonObject, objectOf, parseJson } from "../options.ts";
import { ask, type Ear, historyOf, listenIn, post, settle, upload } from "../recorded/client.ts";
import { plainPng } from "../recorded/recording.ts";
import { httpProbes } from "./http-probes.ts";
import { refusedGraphs, type RunScene, runScenes } from "./run-scenes.ts";

const paths = /(?:\/[\w.-]+)+\/?/g;

/** Paths differ from server to server. */
function withoutPaths(text: unknown): unknown {
  return typeof text === "string" ? text.replaceAll(paths, "<path>") : text;
}

/** A message of the socket or of the history with what is compared of it. */
function shorten(message: unknown): unknown {
  if (Array.isArray(message)) return [message[0], shortenData(objectOf(message[1]))];
  if (!isObject(message)) return message;
  if (!isObject(message.data)) return shortenFrame(message);
  return { [String(message.type)]: shortenData(message.data) };
}

function shortenFrame(frame: JsonObject): JsonObject {
  // Two encoders do not agree on the length of a picture.
  const parts = Object.entries(frame).filter(([key]) => key !== "len");
  return Object.fromEntries(parts.map(([key, part]) => [key, isObject(part) ? shortenData(part) : part]));
}

const told = ["node", "node_id", "nodes", "output", "value", "max", "exception_type", "image_type"];

function shortenData(data: JsonObject): JsonObject {
  const short: JsonObject = {};
  for (const key of told) if (key in data) short[key] = shortenValue(data[key]);
  if ("exception_message" in data) short.exception_message = withoutPaths(data.exception_message);
  if ("current_inputs" in data) short.current_inputs = Object.keys(objectOf(data.current_inputs));
  return short;
}

/** The progress of each node as one text. */
function shortenValue(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => {
    const { state, value: done, max } = objectOf(member);
    return [key, typeof state === "string" ? `${state} ${Number(done)}/${Number(max)}` : member];
  });
  return Object.fromEntries(entries);
}

/** Plays a scene on a server, real or simulated: what the owner and a stranger heard, and what the history keeps. */
async function playScene(url: string, { prompts }: RunScene): Promise<unknown> {
  const ears = [await listenIn(url, "owner", true), await listenIn(url, "stranger", true)];
  const played = [];
  try {
    for (const { graph, more } of prompts) {
      for (const ear of ears) ear.take();
      const idle = Promise.all(ears.map(untilIdle));
      const [status, body] = await post(`${url}/prompt`, { prompt: graph, client_id: "owner", ...more });
      const promptId = String(objectOf(body).prompt_id);
      const { outputs, status: ended } = await historyOf(url, promptId);
      await idle;
      if (more?.client_id === undefined) await ears[0]?.untilEnd(promptId);
      const [owner, stranger] = ears.map((ear) => ear.take().filter(isOfPrompt).map(shorten));
      const { messages, ...end } = objectOf(ended);
      const kept = Array.isArray(messages) ? messages.map(shorten) : [];
      const shownId = promptId === "None" ? promptId : "drawn";
      played.push({ posted: status, promptId: shownId, owner, stranger, outputs, end, kept });
    }
  } finally {
    for (const ear of ears) ear.close();
  }
  return settle(played);
}

/** Until a prompt that is not posted yet has ended: every socket hears then that the queue is empty. */
function untilIdle(ear: Ear): Promise<void> {
  const from = ear.heard.length;
  return ear.until(() => ear.heard.slice(from).map(objectOf).some(isIdle));
}

function isIdle({ type, data }: Record<string, unknown>): boolean {
  const { exec_info: info } = objectOf(objectOf(data).status);
  return type === "status" && objectOf(info).queue_remaining === 0;
}

function isOfPrompt(message: unknown): boolean {
  return objectOf(message).type !== "status";
}

/** One request and what it is called in the fixture. */
export interface Probe {
  /** "POST /queue". */
  readonly call: string;
  /** What tells it from others of the same call; its body and headers by default. */
  readonly title?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array;
}

/** What is compared of an answer; headers that are not there are left out. */
type Answered = Record<string, unknown>;

const comparedHeaders = ["content-type", "content-disposition", "content-range", "accept-ranges", "allow"];
const longestText = 200;

/** Asks a server, real or simulated; `fetch` would add headers of its own and follow redirects. */
function askProbe(url: string, probe: Probe): Promise<Answered> {
  const [method = "GET", path = "/"] = probe.call.split(" ");
  const headers: Record<string, string> = { ...probe.headers };
  if (probe.json !== undefined) headers["content-type"] = "application/json";
  const body = probe.json === undefined ? probe.body : JSON.stringify(probe.json);
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => resolve(describe(response, Buffer.concat(chunks))));
    });
    request.once("error", reject);
    request.end(body);
  });
}

function describe({ statusCode, headers }: http.IncomingMessage, body: Buffer): Answered {
  const found: Answered = { status: statusCode };
  for (const name of comparedHeaders) if (headers[name] !== undefined) found[name] = headers[name];
  const text = body.toString();
  const type = headers["content-type"] ?? "";
  if (type.includes("json")) found.json = parseJson(text);
  else if (!type.startsWith("image/")) found.text = text.slice(0, longestText);
  return found;
}

const sceneLimitMs = 60_000;

/** What a server says to one thing that is compared. */
export interface Said {
  readonly title: string;
  readonly said: unknown;
}

/** All requests, in order; the server is idle and has no history. */
export async function playRequests(url: string): Promise<Said[]> {
  const said: Said[] = [];
  for (const [at, probe] of httpProbes.entries()) {
    const sent = probe.body ?? (probe.json === undefined ? "" : JSON.stringify(probe.json));
    const more = probe.title ?? [sent, ...Object.values(probe.headers ?? {})].join(" ");
    const title = `${at + 1}. ${probe.call} ${more}`.trim();
    said.push({ title, said: settle(await askProbe(url, probe)) });
  }
  return said;
}

/** All graphs that are refused, or taken in part; those that were taken have ended. */
export async function playRefusals(url: string): Promise<Said[]> {
  await upload(url, { name: "a.png", bytes: await plainPng("teal"), overwrite: "true" });
  const ear = await listenIn(url, "owner");
  const said: Said[] = [];
  try {
    for (const [title, prompt] of refusedGraphs) {
      const [status, body] = await post(`${url}/prompt`, { prompt, client_id: "owner" });
      said.push({ title, said: settle([status, body]) });
      // Its last messages would be heard by the owner of the next run.
      if (status === 200) await ear.untilEnd(String(objectOf(body).prompt_id));
    }
  } finally {
    ear.close();
  }
  return said;
}

/** Classes of each kind: old, new, marked, with choices, with hidden inputs. */
const classes =
  "BasicGuider,CFGGuider,CFGNorm,CLIPTextEncode,DifferentialDiffusion,EmptyImage,ImageBatch,ImageColorToMask,ImageScale,LoadImageOutput,PreviewAny,RandomNoise,SaveImage,UNETLoader";

/** Entries of classes, without the help that people read. */
export async function playClasses(url: string): Promise<Said[]> {
  const said: Said[] = [];
  for (const title of classes.split(",")) {
    const [, body] = await ask(`${url}/object_info/${title}`);
    const { description: _, output_tooltips: __, ...entry } = objectOf(objectOf(body)[title]);
    said.push({ title, said: settle(withoutModels(entry)) });
  }
  return said;
}

/** Lists of model files are each server's own. */
function withoutModels(value: unknown): unknown {
  const text = JSON.stringify(value);
  const parsed: unknown = JSON.parse(text.replaceAll(/\[("[^"]*\.safetensors",?)+\]/g, "[]"));
  return parsed;
}

/** All runs; each begins with an empty cache. */
export async function playRuns(url: string): Promise<Said[]> {
  const said: Said[] = [];
  for (const scene of runScenes) {
    await post(`${url}/free`, { unload_models: true, free_memory: true });
    said.push({ title: scene.title, said: await withinLimit(scene.title, playScene(url, scene)) });
  }
  return said;
}

/** A server that lacks a class of the scene never says that it is idle again. */
async function withinLimit<T>(title: string, played: Promise<T>): Promise<T> {
  const over = new AbortController();
  const limit = sleep(sceneLimitMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`"${title}" did not end in ${sceneLimitMs} ms`);
  });
  try {
    return await Promise.race([played, limit]);
  } finally {
    limit.catch(() => undefined);
    over.abort();
  }
}

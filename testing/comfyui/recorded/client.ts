import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";
import { isObject, type JsonObject, objectOf, parseJson } from "../options.ts";

/** A socket of a client with all that it has heard, in the form of the recording. */
export interface Ear {
  readonly heard: unknown[];
  readonly socket: WebSocket;
  /** Resolves once a heard message fits; looks at the ones of the past too. */
  until(fits: (message: Record<string, unknown>) => boolean): Promise<void>;
  /** Waits for `executing null` of a prompt. */
  untilEnd(promptId: string): Promise<void>;
  /** What was heard since the last call. */
  take(): unknown[];
  close(): void;
}

/** Connects; `wantsMetadata` asks for event 4. */
export async function listenIn(url: string, clientId: string, wantsMetadata = false): Promise<Ear> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?clientId=${clientId}`);
  const heard: unknown[] = [];
  const checks = new Set<() => void>();
  let taken = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data));
    heard.push(isBinary ? describeFrame(bytes) : parseJson(bytes.toString()));
    for (const check of checks) check();
  });
  const until: Ear["until"] = (fits) =>
    new Promise((resolve) => {
      const check = () => {
        if (!heard.some((message) => fits(objectOf(message)))) return;
        checks.delete(check);
        resolve();
      };
      checks.add(check);
      check();
    });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.terminate());
  if (wantsMetadata) {
    socket.send(JSON.stringify({ type: "feature_flags", data: { supports_preview_metadata: true } }));
    await until((message) => message.type === "feature_flags");
  }
  return {
    heard,
    socket,
    until,
    untilEnd: (promptId) =>
      until(({ type, data }) => {
        const { node, prompt_id: id } = objectOf(data);
        return type === "executing" && node === null && id === promptId;
      }),
    take: () => {
      const fresh = heard.slice(taken);
      taken = heard.length;
      return fresh;
    },
    close: () => socket.close(),
  };
}

const plainEvent = 1;
const textEvent = 3;

function describeFrame(bytes: Buffer): unknown {
  const event = bytes.readUInt32BE(0);
  const magicOf = (picture: Buffer) => picture.subarray(0, 8).toString("hex");
  if (event === plainEvent) {
    const picture = bytes.subarray(8);
    return {
      binary_event: event,
      format: bytes.readUInt32BE(4),
      magic: magicOf(picture),
      len: picture.length,
    };
  }
  if (event === textEvent) {
    const idEnd = 8 + bytes.readUInt32BE(4);
    return {
      binary_event: event,
      node: bytes.toString("utf8", 8, idEnd),
      text: bytes.toString("utf8", idEnd),
    };
  }
  const metaEnd = 8 + bytes.readUInt32BE(4);
  const meta = parseJson(bytes.subarray(8, metaEnd).toString());
  return { binary_event: event, len: bytes.length, meta, magic: magicOf(bytes.subarray(metaEnd)) };
}

const times = ["timestamp", "create_time", "execution_start_time", "execution_end_time"];
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const tempName = /ComfyUI_temp_[a-z]{5}_/g;

/**
 * Takes out what differs from run to run, so that the rest must be equal: ids are numbered in the order in which
 * they appear, times are 0, sets that Python puts in any order are sorted, help texts and tracebacks go.
 */
export function settle(value: unknown): unknown {
  const ids = new Map<string, string>();
  const name = (id: string) => {
    const known = ids.get(id) ?? `id-${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  const text = (found: string) => found.replaceAll(uuid, name).replaceAll(tempName, "ComfyUI_temp_xxxxx_");
  const visit = (found: unknown): unknown => {
    if (typeof found === "string") return text(found);
    if (Array.isArray(found)) return found.map(visit);
    return isObject(found) ? settleObject(found, visit, text) : found;
  };
  return visit(value);
}

function settleObject(
  found: Record<string, unknown>,
  visit: (value: unknown) => unknown,
  text: (value: string) => string,
): Record<string, unknown> {
  const settled: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(found)) {
    if (key === "tooltip") continue;
    if (times.includes(key)) settled[key] = 0;
    else if (key === "traceback") settled[key] = Array.isArray(value) ? "lines" : value;
    else if (key === "len") settled[key] = typeof value;
    else settled[text(key)] = sortSet(key, visit(value));
  }
  return settled;
}

const sets = ["dependent_outputs", "current_outputs", "errors"];

function sortSet(key: string, value: unknown): unknown {
  if (!sets.includes(key) || !Array.isArray(value)) return value;
  return value.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
}

/** Status and body of an answer; JSON bodies are parsed, as in the recording. */
export type Heard = [status: number, body: unknown];

/** Asks the simulator. */
export async function ask(url: string, init: RequestInit = {}): Promise<Heard> {
  const response = await fetch(url, init);
  const body = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return [response.status, isJson ? parseJson(body) : body];
}

/** Posts JSON. */
export function post(url: string, body: unknown): Promise<Heard> {
  return ask(url, { method: "POST", body: JSON.stringify(body) });
}

/** Posts a graph under a new id. */
export async function postGraph(
  url: string,
  prompt: unknown,
  more: JsonObject = {},
): Promise<{ promptId: string; heard: Heard }> {
  const promptId = randomUUID();
  return { promptId, heard: await post(`${url}/prompt`, { prompt, prompt_id: promptId, ...more }) };
}

/** Uploads a picture with further form fields. */
export function upload(
  url: string,
  { name, bytes, ...fields }: { name: string; bytes: Uint8Array } & Record<string, string | Uint8Array>,
): Promise<Heard> {
  const form = new FormData();
  form.set("image", new File([new Uint8Array(bytes)], name));
  for (const [key, value] of Object.entries(fields)) if (typeof value === "string") form.set(key, value);
  return ask(`${url}/upload/image`, { method: "POST", body: form });
}

const pollMs = 5;

/** Waits until a prompt is in the history and answers its entry. */
export async function historyOf(url: string, promptId: string): Promise<JsonObject> {
  for (;;) {
    const [, body] = await ask(`${url}/history/${promptId}`);
    const entry = objectOf(body)[promptId];
    if (entry) return objectOf(entry);
    await sleep(pollMs);
  }
}

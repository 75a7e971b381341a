import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { objectOf, parseJson, type JsonObject } from "../json.ts";

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

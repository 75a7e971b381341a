import { setTimeout as sleep } from "node:timers/promises";
import { ask, post, upload } from "../recorded/client.ts";
import { objectOf } from "../json.ts";
import { plainPng } from "../recorded/recording.ts";
import { settle } from "../recorded/settle.ts";
import { httpProbes } from "./http-probes.ts";
import { playScene } from "./play-scene.ts";
import { askProbe } from "./probe.ts";
import { refusedGraphs, runScenes } from "./run-scenes.ts";

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

/** All graphs that are refused. */
export async function playRefusals(url: string): Promise<Said[]> {
  await upload(url, { name: "a.png", bytes: await plainPng("teal"), overwrite: "true" });
  const said: Said[] = [];
  for (const [title, prompt] of refusedGraphs) {
    said.push({ title, said: settle(await post(`${url}/prompt`, { prompt, client_id: "owner" })) });
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

import { post, upload } from "../recorded/client.ts";
import { plainPng } from "../recorded/scenes.ts";
import { settle } from "../recorded/settle.ts";
import { httpProbes } from "./http-probes.ts";
import { playScene } from "./play-scene.ts";
import { askProbe } from "./probe.ts";
import { refusedGraphs, runScenes } from "./run-scenes.ts";

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

/** All runs; each begins with an empty cache. */
export async function playRuns(url: string): Promise<Said[]> {
  const said: Said[] = [];
  for (const scene of runScenes) {
    await post(`${url}/free`, { unload_models: true, free_memory: true });
    said.push({ title: scene.title, said: await playScene(url, scene) });
  }
  return said;
}

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { retiredExitCode } from "@atelier/worker/args";
import { quickResolveFlag } from "../process/quick-resolve-flag.ts";
import type { ChildSpec } from "./child.ts";
import type { Role } from "./role.ts";
import type { Settings } from "./settings.ts";

export const rootDir = path.resolve(import.meta.dirname, "..", "..");
/**
 * Measured on an idle worker: 245 MB with Node's default, 85 MB with this. What a worker allocates is mostly buffers
 * outside this heap.
 */
const smallYoungHeap = "--max-semi-space-size=2";
/** Pages hold nothing that needs a long goodbye: open streams resume elsewhere. */
const webGraceMs = 5_000;
/** On top of the worker's own grace time, so that it is never killed while it hands its jobs back. */
const marginMs = 3_000;

function nextArgs(verb: "dev" | "start", settings: Settings): string[] {
  const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
  return [next, verb, "-H", settings.host, "-p", String(settings.port)];
}

const frontDoor = pathToFileURL(path.join(rootDir, "scripts/web/preload.ts")).href;

/** `next dev` hands NODE_OPTIONS on to the process that serves, and nothing else. */
function behindFrontDoor(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, NODE_OPTIONS: `${env["NODE_OPTIONS"] ?? ""} --import=${frontDoor}`.trim() };
}

/** The processes that a role runs. `env` is what all of them get. */
export function childrenOf(role: Role, settings: Settings, env: NodeJS.ProcessEnv): ChildSpec[] {
  const node = { file: process.execPath, cwd: rootDir };
  const mode = role === "dev" ? "development" : "production";
  const childEnv: NodeJS.ProcessEnv = { ...env, NODE_ENV: mode };
  const worker: ChildSpec = {
    ...node,
    name: "worker",
    args: [smallYoungHeap, quickResolveFlag, "worker/main.ts"],
    env: childEnv,
    graceMs: settings.stopGraceMs + marginMs,
    lastCode: retiredExitCode,
  };
  const web = (verb: "dev" | "start"): ChildSpec => ({
    ...node,
    name: "web",
    args: nextArgs(verb, settings),
    env: behindFrontDoor(childEnv),
    graceMs: webGraceMs,
  });
  if (role === "dev") return [web("dev"), worker];
  return role === "start" ? [web("start")] : [worker];
}

import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFaultBox, type Fault } from "./faults.ts";
import { openFiles } from "./files.ts";
import { type ComfyOptions, settleOptions } from "./options.ts";
import { release } from "./queue/run.ts";
import { listenFor } from "./server/listen.ts";
import { type Comfy, endSession, openSession } from "./server/session.ts";
import { allGraphModels, type ComfyStats, openLedger, type PromptStory, readStats } from "./server/stats.ts";

/** A simulated ComfyUI server. */
export interface ComfySimulator {
  /** With the base path, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  inject(fault: Fault): void;
  clearFaults(): void;
  /** Lets held nodes go on, and those of running prompts that were about to be held. */
  release(): void;
  stats(): ComfyStats;
  /** Every prompt that was ever accepted, oldest first; survives restarts of the server. */
  prompts(): PromptStory[];
  setModels(models: Readonly<Record<string, readonly string[]>>): void;
  setMissingClasses(classes: readonly string[]): void;
  /** Ends as SIGKILL does: connections break, queue and history are gone. */
  kill(): Promise<void>;
  /** Listens again on the same port, empty; files are still there. */
  start(): Promise<void>;
  /** Kills, stays away for so long, starts. */
  restart(awayMs?: number): Promise<void>;
  /** Cuts the network only: connections break and are refused, the running prompt goes on. */
  disconnect(): Promise<void>;
  /** Ends a disconnection. */
  reconnect(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a SIMULATOR of ComfyUI on 127.0.0.1. */
export async function startComfySimulator(options: ComfyOptions = {}): Promise<ComfySimulator> {
  const root = options.directory ?? mkdtempSync(path.join(os.tmpdir(), "comfy-simulator-"));
  const comfy = createComfy(options, root);
  const listener = await listenFor(comfy);
  const kill = async () => {
    await Promise.all([endSession(comfy), listener.close()]);
  };
  return {
    url: `http://127.0.0.1:${listener.port}${comfy.options.basePath}`,
    port: listener.port,
    inject: (fault) => comfy.faults.inject(fault),
    clearFaults: () => comfy.faults.clear(),
    release: () => release(comfy),
    stats: () => readStats(comfy.ledger),
    prompts: () => [...comfy.ledger.stories.values()],
    setModels: (models) => (comfy.models = models),
    setMissingClasses: (classes) => (comfy.missingClasses = new Set(classes)),
    kill,
    start: () => listener.open(),
    restart: async (awayMs = 0) => {
      await kill();
      await sleep(awayMs);
      await listener.open();
    },
    disconnect: () => listener.close(),
    reconnect: () => listener.open(),
    close: async () => {
      await kill();
      if (!options.directory) rmSync(root, { recursive: true, force: true });
    },
  };
}

function createComfy(options: ComfyOptions, root: string): Comfy {
  const models = options.models ?? allGraphModels(options.mode);
  const settled = settleOptions(options, options.loras ? { ...models, loras: options.loras } : models);
  return {
    options: settled,
    files: openFiles(root),
    faults: createFaultBox(),
    ledger: openLedger(),
    models: settled.models,
    missingClasses: new Set(settled.missingClasses),
    session: openSession(),
    held: new Set(),
    releases: 0,
  };
}

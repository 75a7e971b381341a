import { execFile } from "node:child_process";
import os from "node:os";
import { promisify } from "node:util";
import type { Gpu } from "@atelier/server/db";

/** What the machine of a worker has of its own; its servers may stand elsewhere. */
export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly gpus: readonly Gpu[];
}

const run = promisify(execFile);
const nvidiaTimeoutMs = 5_000;
const mib = 1024 ** 2;

export async function detectMachine(): Promise<Machine> {
  return { cores: os.availableParallelism(), memoryBytes: os.totalmem(), gpus: await detectGpus() };
}

/** Asks nvidia-smi; a machine without it has no graphics card that counts here. */
async function detectGpus(): Promise<Gpu[]> {
  const args = ["--query-gpu=name,memory.total", "--format=csv,noheader,nounits"];
  try {
    const { stdout } = await run("nvidia-smi", args, { timeout: nvidiaTimeoutMs });
    return parseGpus(stdout);
  } catch {
    return [];
  }
}

/** One line per card: its name and its memory in MiB. */
export function parseGpus(text: string): Gpu[] {
  return text.split("\n").flatMap((line) => {
    const at = line.lastIndexOf(",");
    const vramMib = Number(line.slice(at + 1));
    return at > 0 && vramMib > 0 ? [{ name: line.slice(0, at).trim(), vramBytes: vramMib * mib }] : [];
  });
}

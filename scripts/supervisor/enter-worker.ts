import { flushCompileCache, getCompileCacheDir } from "node:module";
import path from "node:path";
import { runWorker } from "@atelier/worker/main";

const workerDir = path.resolve(import.meta.dirname, "../../worker");

/** Whether sources were not in the compile cache, as at a version's first start: Node.js has loaded its type stripper. */
function hasStripper(): boolean {
  const loaded: unknown = Reflect.get(process, "moduleLoadList");
  return Array.isArray(loaded) && loaded.some((name) => /\bamaro\b/.test(name));
}

/**
 * Runs a supervisor's worker. A process that has loaded the type stripper never frees it, 25 MiB with that of the beat
 * thread. On Linux the worker therefore replaces itself (same pid) and reads the stripped files from the compile cache.
 */
async function enterWorker(args: readonly string[]): Promise<void> {
  const canReplace = process.platform === "linux" && process.execve && getCompileCacheDir() !== undefined;
  if (!canReplace || !hasStripper()) return runWorker(args);
  // What a thread and the first look of the archivist load, so that they find it in the cache too.
  await Promise.all([import("../../worker/beat-thread.ts"), import("@atelier/server/assistant/stages")]);
  flushCompileCache();
  // Never this file again: without a cache that can be written it would replace itself for ever.
  const main = path.join(workerDir, "main.ts");
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, main, ...args], process.env);
}

await enterWorker(process.argv.slice(2));

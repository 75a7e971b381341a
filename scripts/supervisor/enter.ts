import { existsSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import path from "node:path";

const rootDir = path.resolve(import.meta.dirname, "..", "..");
const script = path.join(import.meta.dirname, "run.ts");

/** Prepares what the supervisor and its children inherit: working folder, `.env`, and a umask for private files. */
function prepareProcess(): void {
  process.chdir(rootDir);
  process.umask(0o077);
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/**
 * Runs a supervisor. Node loads a type stripper of 12 MB for TypeScript and never frees it. On Linux the process
 * therefore replaces itself (same pid) and reads the stripped files from the compile cache.
 */
export async function enter(...args: readonly string[]): Promise<void> {
  prepareProcess();
  const dataDir = process.env["ATELIER_DATA_DIR"]?.trim() || ".data";
  const cacheDir = path.resolve(process.env["NODE_COMPILE_CACHE"] ?? path.join(dataDir, "cache", "node"));
  enableCompileCache(cacheDir);
  // Imported before the replacement, so that the cache holds all its imports.
  const { runFromArguments } = await import("./run.ts");
  if (process.platform !== "linux" || !process.execve) return runFromArguments(args);
  // The only TypeScript that the pages' process loads; the replacement undoes what it does here, and the checks report settings that it refuses.
  if (args[0] !== "worker") await import("../web/preload.ts").catch(() => undefined);
  flushCompileCache();
  const command = [process.execPath, ...process.execArgv, script, ...args];
  process.execve(process.execPath, command, { ...process.env, NODE_COMPILE_CACHE: cacheDir });
}

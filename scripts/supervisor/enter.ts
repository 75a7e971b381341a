import { existsSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import path from "node:path";

const rootDir = path.resolve(import.meta.dirname, "..", "..");
const script = path.join(import.meta.dirname, "run.ts");

/** What the supervisor and all its children inherit: folder, `.env`, and files for this user alone. */
function prepareProcess(): void {
  process.chdir(rootDir);
  process.umask(0o077);
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/**
 * Runs a supervisor. To run TypeScript Node loads a stripper of 12 MB and never frees it, so on Linux the process then
 * replaces itself: with the same pid it starts again and reads every file stripped from the compile cache.
 */
export async function enter(...args: readonly string[]): Promise<void> {
  prepareProcess();
  const dataDir = process.env["ATELIER_DATA_DIR"]?.trim() || ".data";
  const cacheDir = path.resolve(process.env["NODE_COMPILE_CACHE"] ?? path.join(dataDir, "cache", "node"));
  enableCompileCache(cacheDir);
  // Only now, so that the cache gets all that it imports.
  const { runFromArguments } = await import("./run.ts");
  if (process.platform !== "linux" || !process.execve) return runFromArguments(args);
  flushCompileCache();
  const command = [process.execPath, ...process.execArgv, script, ...args];
  process.execve(process.execPath, command, { ...process.env, NODE_COMPILE_CACHE: cacheDir });
}

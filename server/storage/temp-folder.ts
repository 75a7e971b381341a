import { mkdir, mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type Config, type Env, isFunction } from "../platform/index.ts";

export type TempEnv = Pick<Env, "ATELIER_DATA_DIR" | "FUNCTION_SECONDS">;

/** Where temporary folders are made: a function can write to the platform's folder alone. */
export function tempRoot(env: TempEnv): string {
  return isFunction(env) ? os.tmpdir() : path.resolve(env.ATELIER_DATA_DIR, "tmp");
}

/** How the names begin: the platform's folder has those of others, too. */
const tempPrefix = (env: TempEnv) => (isFunction(env) ? "atelier-work-" : "work-");

/** The folders that this process works with. */
const open = new Set<string>();

/** Runs `work` with a folder of its own below `tempRoot`, which is gone afterwards whatever happened. */
export async function withTempFolder<T>(env: TempEnv, work: (folder: string) => Promise<T>): Promise<T> {
  const root = tempRoot(env);
  await mkdir(root, { recursive: true });
  const folder = await mkdtemp(path.join(root, tempPrefix(env)));
  open.add(folder);
  try {
    return await work(folder);
  } finally {
    open.delete(folder);
    // The sweep removes the rest; a failure here must not hide how the work ended.
    await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
  }
}

/** Work with a folder ends before this: twice the limit of a run leaves time to fetch and to store. */
export function tempFolderMs({ retention, timing }: Config): number {
  return Math.max(retention.orphanObjectMs, 2 * timing.runLimitMs);
}

/** The work with the folder goes on, although nothing in it changes: it is not swept. Never throws. */
export async function keepTempFolder(folder: string): Promise<void> {
  const now = new Date();
  await utimes(folder, now, now).catch(() => undefined);
}

/**
 * Removes the folders that a killed process left behind: work with one must end, or keep it, before `olderThanMs`. Work of this process
 * may take any time by the clock, which goes on while the machine sleeps, or is set.
 */
export async function sweepTempFolders(env: TempEnv, olderThanMs: number): Promise<void> {
  const names = await readdir(tempRoot(env)).catch(ignoreAbsent);
  const own = names?.filter((name) => name.startsWith(tempPrefix(env)));
  for (const name of own ?? []) {
    const folder = path.join(tempRoot(env), name);
    if (open.has(folder)) continue;
    const found = await stat(folder).catch(ignoreAbsent);
    if (found && Date.now() - found.mtimeMs > olderThanMs) await rm(folder, { recursive: true, force: true });
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Config, Env } from "../platform/index.ts";

type DataFolder = Pick<Env, "ATELIER_DATA_DIR">;

function root(env: DataFolder): string {
  return path.resolve(env.ATELIER_DATA_DIR, "tmp");
}

/** Runs `work` with a folder of its own below `<data>/tmp`, which is gone afterwards whatever happened. */
export async function withTempFolder<T>(env: DataFolder, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(root(env), { recursive: true });
  const folder = await mkdtemp(path.join(root(env), "work-"));
  try {
    return await work(folder);
  } finally {
    // The sweep removes the rest; a failure here must not hide how the work ended.
    await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
  }
}

/** Work with a folder ends before this: twice the limit of a run leaves time to fetch and to store. */
export function tempFolderMs({ retention, timing }: Config): number {
  return Math.max(retention.orphanObjectMs, 2 * timing.runLimitMs);
}

/** Removes the folders that a killed process left behind: `olderThanMs` must be longer than any work with one lasts. */
export async function sweepTempFolders(env: DataFolder, olderThanMs: number): Promise<void> {
  const names = await readdir(root(env)).catch(ignoreAbsent);
  for (const name of names ?? []) {
    const folder = path.join(root(env), name);
    const found = await stat(folder).catch(ignoreAbsent);
    if (found && Date.now() - found.mtimeMs > olderThanMs) await rm(folder, { recursive: true, force: true });
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

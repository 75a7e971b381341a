import { chmodSync, mkdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import path from "node:path";
import { AppError, type Config, type Env, isFunction } from "../platform/index.ts";
import { type TempEnv, tempRoot } from "./temp-folder.ts";

interface SpaceInput {
  readonly env: TempEnv & Pick<Env, "S3_BUCKET">;
  readonly config: Pick<Config, "limits">;
}

export interface FreeSpace {
  /** Of the fuller of the disks that hold stored and temporary files. */
  readonly freeBytes: number;
  /** Whether that is above `config.limits.minFreeBytes`. */
  readonly isEnough: boolean;
}

/** A function's folder is about as small as the usual limit, and holds one upload at a time. */
const minFreeBytesOfFunction = 64 * 1024 ** 2;

/** Free space for new files. Throws the system's error when the data folder is not available. */
export async function readFreeSpace({ env, config }: SpaceInput): Promise<FreeSpace> {
  const files = path.resolve(env.ATELIER_DATA_DIR, "files");
  const folders = env.S3_BUCKET === undefined ? [files, tempRoot(env)] : [tempRoot(env)];
  const disks = await Promise.all(folders.map((folder) => statfs(folder)));
  const freeBytes = Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
  const { minFreeBytes } = config.limits;
  const neededBytes = isFunction(env) ? Math.min(minFreeBytes, minFreeBytesOfFunction) : minFreeBytes;
  return { freeBytes, isEnough: freeBytes >= neededBytes };
}

/** Throws `storage_full` before a disk is so full that jobs and the database could not write. */
export async function requireFreeSpace(input: SpaceInput): Promise<void> {
  const { isEnough } = await readFreeSpace(input);
  if (!isEnough) throw new AppError("storage_full");
}

type DataFolder = Pick<Env, "ATELIER_DATA_DIR">;

/**
 * Closes the folders with pictures and logs to other users of the machine, also those of an older version. A folder
 * that cannot be changed is no reason not to start: reads and writes report it.
 */
export function closeFolders(env: DataFolder): void {
  for (const name of ["files", "tmp", "logs"]) {
    const folder = path.resolve(env.ATELIER_DATA_DIR, name);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
    } catch {
      // Of another user, or on a read-only disk.
    }
  }
}

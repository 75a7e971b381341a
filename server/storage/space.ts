import { chmodSync, mkdirSync } from "node:fs";
import { rm, statfs, writeFile } from "node:fs/promises";
import path from "node:path";
import { AppError, type Config, type Env, isFunction, keptBy, newId } from "../platform/index.ts";
import { type TempEnv, tempRoot } from "./temp-folder.ts";

interface SpaceInput {
  readonly env: TempEnv & Pick<Env, "S3_BUCKET">;
  readonly config: Pick<Config, "limits">;
}

export interface FreeSpace {
  /** Of the fuller of the disks that hold stored and temporary files. */
  readonly freeBytes: number;
  /** How many files the disk with the fewest left still takes (inodes); null where no disk has such a limit, or none says it. */
  readonly freeFiles: number | null;
  /** What uploads leave free: `config.limits.minFreeBytes`, of a function less. */
  readonly neededBytes: number;
  readonly isEnough: boolean;
}

/** A function's folder is about as small as the usual limit, and holds one upload at a time. */
const minFreeBytesOfFunction = 64 * 1024 ** 2;

/** A job and an upload write some each: fewer free inodes are as bad as a full disk. */
export const minFreeFiles = 200;

/** Free space for new files. Throws the system's error when the data folder is not available. */
export async function readFreeSpace({ env, config }: SpaceInput): Promise<FreeSpace> {
  const disks = await Promise.all(writtenFolders(env).map((folder) => statfs(folder)));
  // Disks without a fixed number say 0 of 0; some drivers say 0 of many while they take files, so 0 is left to the write itself.
  const counts = disks.flatMap(({ files, ffree }) => (files > 0 && ffree > 0 ? [ffree] : []));
  const freeFiles = counts.length > 0 ? Math.min(...counts) : null;
  const freeBytes = Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
  const { minFreeBytes } = config.limits;
  const neededBytes = isFunction(env) ? Math.min(minFreeBytes, minFreeBytesOfFunction) : minFreeBytes;
  const isEnough = freeBytes >= neededBytes && (freeFiles ?? minFreeFiles) >= minFreeFiles;
  return { freeBytes, freeFiles, neededBytes, isEnough };
}

function writtenFolders(env: SpaceInput["env"]): string[] {
  const files = path.resolve(env.ATELIER_DATA_DIR, "files");
  return env.S3_BUCKET === undefined ? [files, tempRoot(env)] : [tempRoot(env)];
}

/**
 * Writes and removes a small file in each of these folders: only that shows a disk that became read-only, or a quota. Throws the
 * system's error.
 */
export async function probeWrites({ env }: Pick<SpaceInput, "env">): Promise<void> {
  for (const folder of writtenFolders(env)) {
    const probe = path.join(folder, `.write-check-${newId()}`);
    try {
      await writeFile(probe, "ok", { mode: 0o600 });
    } finally {
      await rm(probe, { force: true });
    }
  }
}

/** Throws `storage_full` before a disk is so full that jobs and the database could not write. */
export async function requireFreeSpace(input: SpaceInput): Promise<void> {
  const { isEnough } = await readFreeSpace(input);
  if (!isEnough) throw new AppError("storage_full");
}

/** What the uploads of this process may still write. */
const promisedBy = keptBy((_env: SpaceInput["env"]) => ({ bytes: 0 }));
/** Another process writes to the same disk: free space is looked at again after so much. */
const lookAgainBytes = 16 * 1024 ** 2;

export interface Room {
  /** Before bytes are written. Throws `storage_full`. */
  noteBytes(count: number): Promise<void>;
}

/**
 * Runs work that writes up to `bytes` into a temporary folder: so much of the free space is promised to it, less what it has
 * written, so that many uploads together keep to the limit of free space. A function has one at a time, which its platform
 * bounds. Throws `storage_full`.
 */
export async function withRoom<T>(
  input: SpaceInput,
  bytes: number,
  work: (room: Room) => Promise<T>,
): Promise<T> {
  const promised = promisedBy(input.env);
  let left = isFunction(input.env) ? 0 : bytes;
  let unlookedBytes = 0;
  promised.bytes += left;
  try {
    const { freeBytes, neededBytes } = await readFreeSpace(input);
    if (freeBytes - promised.bytes < neededBytes) throw new AppError("storage_full");
    return await work({
      async noteBytes(count) {
        const kept = Math.min(count, left);
        left -= kept;
        promised.bytes -= kept;
        unlookedBytes += count;
        if (unlookedBytes < lookAgainBytes) return;
        unlookedBytes = 0;
        await requireFreeSpace(input);
      },
    });
  } finally {
    promised.bytes -= left;
  }
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

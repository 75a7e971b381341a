import { statfs } from "node:fs/promises";
import path from "node:path";
import { AppError, type Config, type Env } from "../platform/index.ts";

interface SpaceInput {
  readonly env: Pick<Env, "ATELIER_DATA_DIR">;
  readonly config: Pick<Config, "limits">;
}

export interface FreeSpace {
  /** Of the fuller of the disks that hold stored and temporary files. */
  readonly freeBytes: number;
  /** Whether that is above `config.limits.minFreeBytes`. */
  readonly isEnough: boolean;
}

/** How much room there is for new files. Throws what the system answers when the data folder is away. */
export async function readFreeSpace({ env, config }: SpaceInput): Promise<FreeSpace> {
  const disks = await Promise.all(
    ["files", "tmp"].map((name) => statfs(path.resolve(env.ATELIER_DATA_DIR, name))),
  );
  const freeBytes = Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
  return { freeBytes, isEnough: freeBytes >= config.limits.minFreeBytes };
}

/** Throws `storage_full` before a disk is so full that jobs and the database could not write. */
export async function requireFreeSpace(input: SpaceInput): Promise<void> {
  const { isEnough } = await readFreeSpace(input);
  if (!isEnough) throw new AppError("storage_full");
}

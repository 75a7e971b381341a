import { readdir } from "node:fs/promises";
import path from "node:path";
import type { Services } from "@atelier/server/services";

/** Keys of all stored objects, sorted; read from the disk itself. */
export async function listObjects({ env }: Pick<Services, "env">): Promise<string[]> {
  const root = path.resolve(env.ATELIER_DATA_DIR, "files");
  return listFiles(root);
}

/** Temporary files that are left, sorted. */
export async function listTempFiles({ env }: Pick<Services, "env">): Promise<string[]> {
  return listFiles(path.resolve(env.ATELIER_DATA_DIR, "tmp"));
}

async function listFiles(root: string): Promise<string[]> {
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))).sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

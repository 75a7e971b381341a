import path from "node:path";
import { inArray } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import {
  findObject,
  listObjectKeys,
  removePrefix,
  sweepTempFolders,
  tempFolderMs,
} from "../storage/index.ts";

/** Key prefixes asked for in one statement. */
const orphanBatchSize = 500;

/** Only keys of these forms are ours to remove: `users/<owner>/<image>` and `jobs/<job>/<attempt>/<position>`. */
const ownedPrefix = /^(?:users\/[^/]+\/[0-9a-f-]{36}|jobs\/[0-9a-f-]{36}\/\d+\/\d+)$/;

/**
 * Removes objects that have no row and are older than `config.retention.orphanObjectMs`: what a process that died
 * between object and row left behind. Temporary folders of that age go as well. Returns how many pictures' objects went.
 */
export async function sweepOrphanObjects(
  services: Pick<Services, "db" | "disk" | "log" | "config" | "env">,
): Promise<number> {
  await sweepTempFolders(services.env, tempFolderMs(services.config));
  let removed = 0;
  for await (const batch of batchesOf(prefixes(services), orphanBatchSize)) {
    const known = await knownPrefixes(services.db, batch.keys().toArray());
    for (const [prefix, keys] of batch) {
      if (!known.has(prefix) && (await removeOrphan(services, prefix, keys))) removed += 1;
    }
  }
  return removed;
}

/** Each prefix of a picture with the keys below it. */
async function* prefixes({ disk }: Pick<Services, "disk">): AsyncGenerator<[string, string[]]> {
  for (const root of ["users", "jobs"]) {
    for await (const page of listObjectKeys(disk, root)) {
      yield* Map.groupBy(page, (key) => path.posix.dirname(key));
    }
  }
}

async function removeOrphan(
  services: Pick<Services, "db" | "disk" | "log" | "config">,
  prefix: string,
  keys: readonly string[],
): Promise<boolean> {
  if (!ownedPrefix.test(prefix)) return false;
  const newestBefore = Date.now() - services.config.retention.orphanObjectMs;
  for (const key of keys) {
    const found = await findObject(services.disk, key);
    if (found && found.modifiedAt.getTime() > newestBefore) return false;
  }
  // Read again: the row may have been committed since the batch was asked for.
  if ((await knownPrefixes(services.db, [prefix])).size > 0) return false;
  await removePrefix(services.disk, prefix);
  services.log.info({ storageKey: prefix }, "removed objects without a row");
  return true;
}

async function knownPrefixes(db: Db, storageKeys: string[]): Promise<Set<string>> {
  const { images } = schema;
  const rows = await db
    .select({ storageKey: images.storageKey })
    .from(images)
    .where(inArray(images.storageKey, storageKeys));
  return new Set(rows.map(({ storageKey }) => storageKey));
}

async function* batchesOf(
  source: AsyncIterable<[string, string[]]>,
  size: number,
): AsyncGenerator<Map<string, string[]>> {
  let batch = new Map<string, string[]>();
  for await (const [prefix, keys] of source) {
    batch.set(prefix, [...(batch.get(prefix) ?? []), ...keys]);
    if (batch.size < size) continue;
    yield batch;
    batch = new Map();
  }
  if (batch.size > 0) yield batch;
}

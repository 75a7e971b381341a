import path from "node:path";
import { inArray } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { Duty } from "../leases/index.ts";
import type { Services } from "../services.ts";
import {
  endUploads,
  type ListedObject,
  listObjects,
  readStoreClock,
  reasonOfStore,
  removePrefix,
} from "../storage/index.ts";
import { directUploadMs } from "./limits.ts";
import { isOwnStore } from "./store-mark.ts";

const { images } = schema;

/** Key prefixes per statement. */
const orphanBatchSize = 500;

/** Only keys of these forms are ours to remove: `users/<owner>/<image>` and `jobs/<job>/<attempt or UUID>/<position>`. */
const ownedPrefix = /^(?:users\/[^/]+\/[0-9a-f-]{36}|jobs\/[0-9a-f-]{36}\/(?:\d+|[0-9a-f-]{36})\/\d+)$/;

/** What the keys of pictures begin with. */
const roots = ["users", "jobs"] as const;

/** Turn of the sweep of objects without a row. */
export const orphanTurn = "orphaned objects";
/** Pause after a sweep that failed, ms. */
const sweepRetryMs = 15 * 60_000;
/** A store with many millions of objects is listed for hours. */
const sweepMostMs = 12 * 60 * 60_000;

/** The sweep as a duty: it lists the whole store. Of another installation's objects none has a row here. */
export function orphanDuty({ config }: Pick<Services, "config">): Duty {
  return {
    name: orphanTurn,
    everyMs: config.retention.orphanSweepMs,
    retryMs: sweepRetryMs,
    mostMs: sweepMostMs,
    mayRun: isOwnStore,
    run: sweepOrphanObjects,
  };
}

type SweepServices = Pick<Services, "db" | "disk" | "log" | "config">;

/**
 * Removes objects that have no row and are older than `config.retention.orphanObjectMs`: what a process that died
 * between object and row left behind. Returns how many pictures' objects went. Ends early when the signal aborts.
 */
export async function sweepOrphanObjects(services: SweepServices, signal?: AbortSignal): Promise<number> {
  // A full disk takes nothing new, and must get rid of what is old all the more.
  const nowMs = (await readStoreClock(services.disk)) ?? Date.now();
  const newestBefore = nowMs - services.config.retention.orphanObjectMs;
  let removed = 0;
  for await (const batch of batchesOf(prefixes(services), orphanBatchSize)) {
    if (signal?.aborted) return removed;
    const known = await knownPrefixes(services.db, batch.keys().toArray());
    for (const [prefix, objects] of batch) {
      if (!known.has(prefix) && (await removeOrphan(services, { prefix, objects, newestBefore })))
        removed += 1;
    }
  }
  await sweepUploads(services, new Date(nowMs - uploadMostMs));
  return removed + (await sweepIncoming(services, newestBefore - directUploadMs, signal));
}

/** No process sends one picture for so long. */
const uploadMostMs = 24 * 3_600_000;

/** Uploads in parts of processes that died. Not every store lists them, or lets the key end them. */
async function sweepUploads({ disk, log }: SweepServices, begunBefore: Date): Promise<void> {
  for (const root of roots) {
    const ended = await endUploads(disk, root, begunBefore).catch((error: unknown) => {
      log.debug({ reason: reasonOfStore(error) }, "unfinished uploads could not be ended");
      return 0;
    });
    if (ended > 0) log.info({ ended, root }, "ended unfinished uploads");
  }
}

/** Files of direct uploads whose row went with its owner: a row lives for an hour. */
async function sweepIncoming(
  { disk }: SweepServices,
  newestBefore: number,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for await (const page of listObjects(disk, "incoming")) {
    if (signal?.aborted) break;
    for (const { key, readMetaData } of page) {
      const found = await readMetaData();
      if (!found || found.modifiedAt.getTime() > newestBefore) continue;
      await removePrefix(disk, path.posix.dirname(key));
      removed += 1;
    }
  }
  return removed;
}

type Listed = [prefix: string, objects: ListedObject[]];

/** Each prefix of a picture with the objects below it. */
async function* prefixes({ disk }: Pick<Services, "disk">): AsyncGenerator<Listed> {
  for (const root of roots) {
    for await (const page of listObjects(disk, root)) {
      yield* Map.groupBy(page, ({ key }) => path.posix.dirname(key));
    }
  }
}

interface Orphan {
  readonly prefix: string;
  readonly objects: readonly ListedObject[];
  readonly newestBefore: number;
}

async function removeOrphan(
  services: SweepServices,
  { prefix, objects, newestBefore }: Orphan,
): Promise<boolean> {
  if (!ownedPrefix.test(prefix)) return false;
  for (const { readMetaData } of objects) {
    const found = await readMetaData();
    if (found && found.modifiedAt.getTime() > newestBefore) return false;
  }
  // Read again: the row may have been committed since the batch was asked for.
  if ((await knownPrefixes(services.db, [prefix])).size > 0) return false;
  await removePrefix(services.disk, prefix);
  services.log.info({ storageKey: prefix }, "removed objects without a row");
  return true;
}

async function knownPrefixes(db: Db, storageKeys: string[]): Promise<Set<string>> {
  const rows = await db
    .select({ storageKey: images.storageKey })
    .from(images)
    .where(inArray(images.storageKey, storageKeys));
  return new Set(rows.map(({ storageKey }) => storageKey));
}

async function* batchesOf(
  source: AsyncIterable<Listed>,
  size: number,
): AsyncGenerator<Map<string, ListedObject[]>> {
  let batch = new Map<string, ListedObject[]>();
  for await (const [prefix, objects] of source) {
    batch.set(prefix, [...(batch.get(prefix) ?? []), ...objects]);
    if (batch.size < size) continue;
    yield batch;
    batch = new Map();
  }
  if (batch.size > 0) yield batch;
}

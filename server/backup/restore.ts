import path from "node:path";
import { createGunzip } from "node:zlib";
import { eq, inArray, notInArray, sql } from "drizzle-orm";
import { type Load, migrate, migrateTo, schema, withLoad } from "../db/index.ts";
import { requeueRestored } from "../jobs/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { BackUpInput } from "./back-up.ts";
import { listFile, type Manifest, openBackupFile, readManifest, requireWhole } from "./folder.ts";
import { checkPictures, putPictures } from "./pictures.ts";
import { forgetUnfinished, inspectTarget, markFilling, noteUnfinished, putMark } from "./target.ts";

export interface RestoreInput extends BackUpInput {
  /** Pictures that are damaged in the backup are left out, as if they had been deleted. */
  readonly skipsDamaged: boolean;
  /** The store is the one that the backup was made of, and its database is lost. */
  readonly takesOver: boolean;
  /** The services of the restored database, for the last steps. */
  readonly withServices: (work: (services: Services) => Promise<void>) => Promise<void>;
}

export interface Restored {
  readonly manifest: Manifest;
  /** Pictures that were damaged in the backup. */
  readonly skipped: number;
  /** Jobs that ran when the backup was made. */
  readonly requeued: number;
  readonly failed: number;
}

/** Reads all of a backup and compares it with its hashes. Returns the number of damaged pictures. */
export async function checkBackup(
  input: Pick<BackUpInput, "folder" | "signal" | "onProgress">,
): Promise<{ manifest: Manifest; damaged: number }> {
  const folder = path.resolve(input.folder);
  const manifest = await readWhole(folder, input.signal);
  const damaged = await checkPictures({ ...input, folder, manifest });
  return { manifest, damaged: damaged.size };
}

/** The manifest, after everything but the pictures was compared with its hashes. */
async function readWhole(folder: string, signal: AbortSignal): Promise<Manifest> {
  const manifest = await readManifest(folder);
  for (const file of [...manifest.tables, { ...manifest.pictures, file: listFile }])
    await requireWhole(folder, file, signal);
  return manifest;
}

/**
 * Fills an empty studio: pictures first, then all rows in one transaction, then the schema of this version. Ended at any
 * time, it goes on when it is run again. Until its end no process takes the store for its own. Throws `conflict` for a studio that
 * is not empty and a backup of a newer version, `bad_request` for a damaged one, `storage_unavailable`.
 */
export async function restore(input: RestoreInput): Promise<Restored> {
  const { databaseUrl: url, disk, signal, onProgress } = input;
  const folder = path.resolve(input.folder);
  const manifest = await readWhole(folder, signal);
  const unfinished = await inspectTarget(input, manifest, input);
  if (!unfinished) await markFilling(disk, manifest);
  const damaged = await putPictures({ folder, disk, manifest, signal, onProgress });
  if (damaged.size > 0 && !input.skipsDamaged)
    throw new AppError(
      "bad_request",
      `${damaged.size} pictures are damaged in the backup. To leave them out, add --skip-damaged.`,
    );
  const storeMark = unfinished?.storeMark ?? newId();
  if (!unfinished) {
    await migrateTo(url, manifest.migrations.at(-1) ?? 0);
    const run = (load: Load) => fill(load, { ...input, folder, manifest, storeMark });
    await withLoad({ url, signal, run });
  }
  await migrate(url);
  const jobs = { requeued: 0, failed: 0 };
  await input.withServices(async (services) => {
    await settle(services, [...manifest.deleted, ...damaged]);
    Object.assign(jobs, await requeueRestored(services));
    await putMark(disk, storeMark);
    await takeMark(services, storeMark);
  });
  await withLoad({ url, signal, run: forgetUnfinished });
  return { manifest, skipped: damaged.size, ...jobs };
}

interface Filling extends RestoreInput {
  readonly manifest: Manifest;
  readonly storeMark: string;
}

async function fill(load: Load, { folder, manifest, storeMark, onProgress }: Filling): Promise<void> {
  const { tables } = manifest;
  // A studio that was started once and is empty may have rows of workers.
  for (const { name } of tables.toReversed()) await load.run(`delete from public.${name}`);
  for (const [done, table] of tables.entries()) {
    onProgress({ what: "tables", done, total: tables.length });
    const packed = openBackupFile(folder, table);
    const unpacked = createGunzip();
    packed.once("error", (error) => unpacked.destroy(error)).pipe(unpacked);
    const rows = await load.copyIn(table, unpacked);
    if (rows !== table.rows)
      throw new AppError("bad_request", `The backup is damaged: ${table.name} has ${rows} rows.`);
  }
  // The planner knows nothing of rows that were just filled in.
  for (const { name } of tables) await load.run(`analyze public.${name}`);
  await noteUnfinished(load, { backupId: manifest.id, storeMark });
}

const { images, jobInputs, jobOutputs, nodes, studio } = schema;

/** Pictures per transaction. */
const batchSize = 500;

/** Removes the rows of pictures without files, and ends the nodes, whose processes belong to the other installation. */
async function settle({ db }: Services, withoutFiles: readonly string[]): Promise<void> {
  for (let at = 0; at < withoutFiles.length; at += batchSize) {
    const ids = withoutFiles.slice(at, at + batchSize);
    await db.transaction(async (tx) => {
      await tx.delete(jobInputs).where(inArray(jobInputs.imageId, ids));
      await tx.delete(jobOutputs).where(inArray(jobOutputs.imageId, ids));
      await tx.delete(images).where(inArray(images.id, ids));
    });
  }
  await db
    .update(nodes)
    .set({ state: "gone", endedAt: sql`coalesce(${nodes.endedAt}, ${nodes.seenAt})` })
    .where(notInArray(nodes.state, ["gone", "lost"]));
}

/** A new mark, so that the studio that was backed up and this one refuse each other's stores. */
async function takeMark({ db }: Services, storeMark: string): Promise<void> {
  // Swept now: objects of a store that was taken over stay for another day.
  const set = { storeMark, storeMarkedAt: sql`now()`, orphansSweptAt: sql`now()` };
  await db.insert(studio).values({ storeMark }).onConflictDoNothing();
  await db.update(studio).set(set).where(eq(studio.id, 1));
}

import path from "node:path";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { eq, inArray, notInArray, sql } from "drizzle-orm";
import { countUnreadableFactors } from "../accounts/index.ts";
import { knownMigrations, type Load, migrate, migrateTo, schema, withLoad } from "../db/index.ts";
import { countUnreadableSecrets } from "../deliveries/index.ts";
import { orphanTurn } from "../images/index.ts";
import { requeueRestored } from "../jobs/index.ts";
import { postponeTurn } from "../leases/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { BackUpInput } from "./back-up.ts";
import { listFile, type Manifest, openBackupFile, readManifest, requireWhole } from "./folder.ts";
import { checkPictures, putPictures } from "./objects.ts";
import { inSteps, progressOf, type Steps } from "./steps.ts";
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
  /** What was encrypted with another `AUTH_SECRET` than this studio has. */
  readonly unreadable: { readonly factors: number; readonly webhooks: number };
}

/** Reads all of a backup and compares it with its sizes and hashes. Returns the number of damaged pictures. */
export function checkBackup(
  input: Pick<BackUpInput, "folder" | "signal" | "stillMs" | "onProgress">,
): Promise<{ manifest: Manifest; damaged: number }> {
  const folder = path.resolve(input.folder);
  return inSteps(input, async (steps) => {
    const manifest = await readWhole(folder, steps);
    steps.enter("checking the pictures");
    const damaged = await checkPictures({ ...input, folder, manifest, steps });
    return { manifest, damaged: damaged.size };
  });
}

/** The manifest, after everything but the pictures was compared with its hashes. */
async function readWhole(folder: string, steps: Steps): Promise<Manifest> {
  const manifest = await readManifest(folder);
  requireOlder(manifest);
  for (const wanted of [...manifest.tables, { ...manifest.pictures, file: listFile }]) {
    steps.enter(`checking ${wanted.file}`);
    await requireWhole(folder, wanted, steps);
  }
  return manifest;
}

function requireOlder({ migrations }: Manifest): void {
  const known = knownMigrations();
  if (migrations.some((migration, at) => migration !== known[at]))
    throw new AppError(
      "conflict",
      "The backup was made by a newer version of Atelier. Restore it with that version or a later one.",
    );
}

/**
 * Fills an empty studio: pictures first, then all rows in one transaction, then the schema of this version. Ended at any
 * time, it goes on when it is run again. Until its end no process takes the store for its own. Throws `conflict` for a studio that
 * is not empty and a backup of a newer version, `bad_request` for a damaged one, `storage_unavailable`, `internal` when a step
 * stands still.
 */
export function restore(input: RestoreInput): Promise<Restored> {
  const folder = path.resolve(input.folder);
  return inSteps(input, (steps) => restoreIn({ ...input, folder, steps, signal: steps.signal }));
}

async function restoreIn(input: RestoreInput & { readonly steps: Steps }): Promise<Restored> {
  const { databaseUrl: url, folder, disk, signal, onProgress, steps } = input;
  const manifest = await readWhole(folder, steps);
  steps.enter("looking at the studio that is filled");
  const unfinished = await inspectTarget(input, manifest, input);
  if (!unfinished) await markFilling(disk, manifest);
  steps.enter("storing pictures");
  const damaged = await putPictures({ folder, disk, manifest, onProgress, steps });
  if (damaged.size > 0 && !input.skipsDamaged)
    throw new AppError(
      "bad_request",
      `${damaged.size} pictures are damaged in the backup. To leave them out, add --skip-damaged.`,
    );
  const storeMark = unfinished?.storeMark ?? newId();
  steps.enter("preparing the tables", "database");
  if (!unfinished) {
    await migrateTo(url, manifest.migrations.at(-1) ?? 0);
    const run = (load: Load) => fill(load, { ...input, manifest, storeMark });
    await withLoad({ url, signal, run });
  }
  steps.enter("bringing the tables and jobs to this version", "database");
  await migrate(url);
  const jobs = { requeued: 0, failed: 0 };
  const unreadable = { factors: 0, webhooks: 0 };
  await input.withServices(async (services) => {
    await settle(services, [...manifest.deleted, ...damaged]);
    Object.assign(jobs, await requeueRestored(services));
    unreadable.factors = await countUnreadableFactors(services);
    unreadable.webhooks = await countUnreadableSecrets(services);
    await putMark(disk, storeMark);
    await takeMark(services, storeMark);
  });
  await withLoad({ url, signal, run: forgetUnfinished });
  return { manifest, skipped: damaged.size, ...jobs, unreadable };
}

interface Filling extends RestoreInput {
  readonly steps: Steps;
  readonly manifest: Manifest;
  readonly storeMark: string;
}

async function fill(load: Load, input: Filling): Promise<void> {
  const { manifest, storeMark, onProgress, steps } = input;
  const { tables } = manifest;
  // A studio that was started once and is empty may have rows of workers.
  for (const { name } of tables.toReversed()) await load.run(`delete from public.${name}`);
  for (const [done, table] of tables.entries()) {
    onProgress({ what: "tables", done, total: tables.length });
    steps.enter(`filling in the rows of ${table.name}`);
    const rows = await load.copyIn(table, unpack(table, input));
    if (rows !== table.rows)
      throw new AppError("bad_request", `The backup is damaged: ${table.name} has ${rows} rows.`);
  }
  steps.enter("counting the rows for the planner", "database");
  // The planner knows nothing of rows that were just filled in.
  for (const { name } of tables) await load.run(`analyze public.${name}`);
  await noteUnfinished(load, { backupId: manifest.id, storeMark });
}

/** The rows of a table. Behind the last one the database checks them all. */
function unpack(table: Manifest["tables"][number], { folder, steps }: Filling): Readable {
  const unpacked = createGunzip();
  const watched = progressOf(steps);
  watched.once("end", () => steps.enter(`checking the rows of ${table.name}`, "database"));
  // The error of any of the three reaches the reader through the last one.
  pipeline(openBackupFile(folder, table), unpacked, watched, () => undefined);
  return watched;
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
async function takeMark({ db, config }: Services, storeMark: string): Promise<void> {
  const set = { storeMark, storeMarkedAt: sql`now()` };
  await db.insert(studio).values({ storeMark }).onConflictDoNothing();
  await db.update(studio).set(set).where(eq(studio.id, 1));
  // Objects of a store that was taken over stay for another day.
  await postponeTurn({ db }, orphanTurn, config.retention.orphanSweepMs);
}

import { appliedMigrations, countProcesses, type Load, withLoad } from "../db/index.ts";
import { markKey, readMark } from "../images/index.ts";
import { AppError } from "../platform/index.ts";
import { type ImageDisk, listObjects, putAll } from "../storage/index.ts";
import type { Manifest } from "./folder.ts";

export interface Target {
  readonly databaseUrl: string;
  readonly disk: ImageDisk;
  readonly signal: AbortSignal;
}

/** What a restore that did not end left in the database: the rows are there, the last steps may be missing. */
export interface Unfinished {
  readonly backupId: string;
  /** The mark that the store gets at the end. */
  readonly storeMark: string;
}

/** Beside the list of the migrations; there only while a restore is not finished. */
const unfinishedTable = "drizzle.atelier_restore";

/** Stored with the rows, in the same transaction. */
export async function noteUnfinished(load: Load, { backupId, storeMark }: Unfinished): Promise<void> {
  await load.run(`create table ${unfinishedTable} (backup_id text not null, store_mark text not null)`);
  await load.run(`insert into ${unfinishedTable} values ($1, $2)`, [backupId, storeMark]);
}

export async function forgetUnfinished(load: Load): Promise<void> {
  await load.run(`drop table if exists ${unfinishedTable}`);
}

/** The store's mark while it is filled: no process of any studio takes it for its own. */
const fillingMark = (manifest: Manifest) => `restore ${manifest.id}`;

/**
 * Throws `conflict` unless the database and the store are empty, or were left by a restore of the same backup, which is
 * returned. With `takesOver` the store may be the one that the backup was made of.
 */
export async function inspectTarget(
  target: Target,
  manifest: Manifest,
  { takesOver }: { readonly takesOver: boolean },
): Promise<Unfinished | null> {
  const state = await inspectDatabase(target);
  if (state.processes > 0)
    throw new AppError("conflict", "Processes of the studio are connected to the database. Stop them first.");
  if (state.unfinished && state.unfinished.backupId !== manifest.id)
    throw new AppError("conflict", "The database holds the half of another restore. Use an empty one.");
  if (!state.unfinished && state.hasRows)
    throw new AppError(
      "conflict",
      "The studio is not empty: its database has users. Restore into an empty one.",
    );
  await requireSchema(target, manifest, state.unfinished);
  const marks = [fillingMark(manifest), state.unfinished?.storeMark];
  const mark = await readMark(target.disk);
  const isOurs = mark !== null && marks.includes(mark);
  const isTaken = takesOver && mark !== null && mark === manifest.storeMark;
  if (!isOurs && !isTaken) await requireEmptyStore(target.disk, { mark, own: state.storeMark, manifest });
  return state.unfinished;
}

/** An empty database that a newer version has prepared cannot hold the rows of an older one. */
async function requireSchema(
  { databaseUrl }: Target,
  { migrations }: Manifest,
  unfinished: Unfinished | null,
): Promise<void> {
  const applied = await appliedMigrations(databaseUrl);
  if (unfinished || applied.length <= migrations.length) return;
  throw new AppError(
    "conflict",
    "The backup is of an older version, and this database has the newer tables already. Give it a database without tables.",
  );
}

interface DatabaseState {
  readonly unfinished: Unfinished | null;
  readonly hasRows: boolean;
  /** Other sessions of Atelier. */
  readonly processes: number;
  /** Chosen by a process that was started once. */
  readonly storeMark: string | null;
}

function inspectDatabase({ databaseUrl: url, signal }: Target): Promise<DatabaseState> {
  const run = async (load: Load): Promise<DatabaseState> => {
    const hasTable = async (name: string) =>
      (await load.run("select to_regclass($1) is not null as found", [name]))[0]?.["found"] === true;
    const [left] = (await hasTable(unfinishedTable))
      ? await load.run(`select * from ${unfinishedTable}`)
      : [];
    const [rows] = (await hasTable("public.users"))
      ? await load.run(
          "select exists (select from users) or exists (select from images) or exists (select from jobs) as found",
        )
      : [];
    const [studio] = (await hasTable("public.studio")) ? await load.run("select store_mark from studio") : [];
    const mark = studio?.["store_mark"];
    return {
      unfinished: left
        ? { backupId: String(left["backup_id"]), storeMark: String(left["store_mark"]) }
        : null,
      hasRows: rows?.["found"] === true,
      processes: await countProcesses((query) => load.run(query)),
      storeMark: typeof mark === "string" ? mark : null,
    };
  };
  return withLoad({ url, signal, run });
}

interface StoreMarks {
  readonly mark: string | null;
  readonly own: string | null;
  readonly manifest: Manifest;
}

async function requireEmptyStore(disk: ImageDisk, { mark, own, manifest }: StoreMarks): Promise<void> {
  if (mark !== null && mark === manifest.storeMark)
    throw new AppError(
      "conflict",
      "The image store is the one of the studio that was backed up. If its database is lost for good, add --take-over-store.",
    );
  const isForeign = mark !== null && mark !== own;
  for (const root of isForeign ? [] : ["users", "jobs"]) {
    for await (const page of listObjects(disk, root)) {
      if (page.length > 0) throw notEmpty();
    }
  }
  if (isForeign) throw notEmpty();
}

function notEmpty(): AppError {
  return new AppError("conflict", "The image store is not empty. Restore into an empty folder or bucket.");
}

export async function markFilling(disk: ImageDisk, manifest: Manifest): Promise<void> {
  await putMark(disk, fillingMark(manifest));
}

export async function putMark(disk: ImageDisk, mark: string): Promise<void> {
  await putAll(disk, [{ key: markKey, bytes: Buffer.from(mark), mime: "text/plain" }]);
}

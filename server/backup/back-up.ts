import path from "node:path";
import { createGzip } from "node:zlib";
import { appliedMigrations, knownMigrations, type Snapshot, withSnapshot } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { ImageDisk } from "../storage/index.ts";
import { linesOf, makeFolder, type Manifest, tableFile, writeFile, writeManifest } from "./folder.ts";
import { type PictureRow, pictureRowsFile, savePictures } from "./objects.ts";
import { inSteps, progressOf, type StepLimits, type Steps } from "./steps.ts";

/** How far a backup or a restore is. */
export interface BackupProgress {
  readonly what: "tables" | "pictures";
  readonly done: number;
  readonly total: number;
}

export interface BackUpInput extends StepLimits {
  /** Without a pooler in transaction mode. */
  readonly databaseUrl: string;
  readonly disk: ImageDisk;
  /** Is made; nothing is left of it after a failure. */
  readonly folder: string;
  readonly onProgress: (progress: BackupProgress) => void;
}

/**
 * Counters, one-time links, uploads and answers under way, leases of live nodes: they mean nothing in another installation.
 * Vectors are made again from the texts.
 */
const leftOut = new Set([
  "recall_vectors",
  "rate_limits",
  "password_resets",
  "direct_uploads",
  "result_holds",
  "server_leases",
]);

/**
 * Writes a backup of the rows at one moment, and of the files of all pictures that these rows name, while the studio runs.
 * Throws `conflict` for a folder that is there and a database of a newer version, `storage_unavailable`, `internal` when a
 * step stands still.
 */
export async function backUp(input: BackUpInput): Promise<Manifest> {
  requireKnown(await appliedMigrations(input.databaseUrl));
  return makeFolder(path.resolve(input.folder), (folder) =>
    inSteps(input, (steps) => fillFolder({ ...input, folder, steps, signal: steps.signal })),
  );
}

interface Filling extends BackUpInput {
  readonly steps: Steps;
}

async function fillFolder(input: Filling): Promise<Manifest> {
  const { databaseUrl: url, folder, signal, steps } = input;
  const rows = await withSnapshot({ url, signal, run: (snapshot) => writeRows(snapshot, input) });
  steps.enter("copying pictures");
  const pictures = await savePictures({ ...input, total: rowsOf(rows, "images") });
  steps.enter("writing the manifest");
  const createdAt = new Date().toISOString();
  const manifest: Manifest = { format: 1, id: newId(), createdAt, ...rows, ...pictures };
  await writeManifest(folder, manifest);
  signal.throwIfAborted();
  return manifest;
}

function requireKnown(applied: readonly number[]): void {
  if (applied.length === 0)
    throw new AppError("conflict", "The database is empty: there is nothing to back up.");
  const known = new Set(knownMigrations());
  if (applied.every((migration) => known.has(migration))) return;
  const message = "The database belongs to a newer version of Atelier. Use the command of that version.";
  throw new AppError("conflict", message);
}

/** Rows of a table in a backup. */
function rowsOf({ tables }: Pick<Manifest, "tables">, table: string): number {
  return tables.find(({ name }) => name === table)?.rows ?? 0;
}

type Rows = Pick<Manifest, "migrations" | "storeMark" | "tables">;

async function writeRows(snapshot: Snapshot, input: Filling): Promise<Rows> {
  const { folder, signal, onProgress, steps } = input;
  const wanted = snapshot.tables.filter(({ name }) => !leftOut.has(name));
  const tables: Manifest["tables"] = [];
  for (const { name, columns } of wanted) {
    onProgress({ what: "tables", done: tables.length, total: wanted.length });
    steps.enter(`copying the rows of ${name}`);
    const { written, rows } = await snapshot.copyOut({ name, columns }, (from) =>
      writeFile(folder, tableFile(name), { from, through: [progressOf(steps), createGzip()], signal }),
    );
    tables.push({ name, columns: [...columns], rows, ...written });
  }
  steps.enter("listing the pictures");
  await writePictureRows(snapshot, input);
  return {
    migrations: await readMigrations(snapshot),
    storeMark: wanted.some(({ name }) => name === "studio") ? await readMark(snapshot) : null,
    tables,
  };
}

/** The files are copied after the snapshot, which would keep old rows from being vacuumed for as long. */
async function writePictureRows(snapshot: Snapshot, { folder, signal, steps }: Filling): Promise<void> {
  const query = "select id, storage_key, mime, stored_sha256 from images order by id";
  const from = linesOf(snapshot.batches<PictureRow>(query));
  await writeFile(folder, pictureRowsFile, { from, through: [progressOf(steps)], signal });
}

async function readMigrations(snapshot: Snapshot): Promise<number[]> {
  const query = "select created_at from drizzle.__drizzle_migrations order by created_at";
  return (await snapshot.read<{ created_at: string }>(query)).map(({ created_at }) => Number(created_at));
}

async function readMark(snapshot: Snapshot): Promise<string | null> {
  const [row] = await snapshot.read<{ store_mark: string | null }>("select store_mark from studio");
  return row?.store_mark ?? null;
}

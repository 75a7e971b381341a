import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { AppError, newId } from "../platform/index.ts";
import { syncFolder } from "../storage/index.ts";
import { progressOf, type Steps } from "./steps.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const name = z.string().regex(/^[a-z0-9_]+$/);

/** A file of the backup, with what it must be. */
const fileSchema = z.object({
  file: z.string().regex(/^[a-z0-9_/]+\.(?:gz|jsonl)$/),
  sizeBytes: count,
  sha256,
});
export type BackupFile = z.infer<typeof fileSchema>;

const manifestSchema = z.object({
  format: z.literal(1),
  id: z.uuid(),
  createdAt: z.iso.datetime(),
  /** Migrations that the database had, each by the time of its making. */
  migrations: z.array(count).min(1),
  /** Mark of the image store. */
  storeMark: z.string().nullable(),
  /** In the order in which they can be filled. */
  tables: z.array(fileSchema.extend({ name, columns: z.array(name), rows: count })),
  /** The list of the pictures' files, one line each. */
  pictures: fileSchema.extend({ objects: count, totalBytes: count }),
  /** Pictures that were deleted while the backup was made: their rows are in it, their files are not. */
  deleted: z.array(z.uuid()),
  /** Pictures whose files were missing or not as their rows say before the backup; the rows are in it. */
  damaged: z.array(z.uuid()),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** One object of the image store. Its bytes lie under their hash, so equal ones lie there once. */
const objectSchema = z.object({
  imageId: z.uuid(),
  key: z
    .string()
    .regex(/^(?:users|jobs)\/[\w./-]+$/)
    .refine((key) => !key.split("/").includes("..")),
  sizeBytes: count,
  sha256,
});
export type BackupObject = z.infer<typeof objectSchema>;

const manifestFile = "manifest.json";
export const listFile = "pictures.jsonl";
export const tableFile = (table: string) => `tables/${table}.gz`;
const objectFile = (hash: string) => path.join("objects", hash.slice(0, 2), hash);

/** Reads the manifest of a whole backup. Throws `bad_request` with what is wrong. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(path.join(folder, manifestFile), "utf8").catch((cause: unknown) => {
    throw new AppError("bad_request", `${folder} is no backup: it has no ${manifestFile}.`, { cause });
  });
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new AppError("bad_request", `${folder} has a manifest that cannot be read.`);
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Writes the manifest, without which a folder is no backup. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeDurably(path.join(folder, manifestFile), [
    JSON.stringify(manifestSchema.parse(manifest), null, 2),
    "\n",
  ]);
}

async function writeDurably(file: string, chunks: Iterable<string> | AsyncIterable<string>): Promise<void> {
  await pipeline(chunks, createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }));
}

/** Counts and hashes what flows through. */
function createMeter() {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, read: () => ({ sizeBytes, sha256: hash.digest("hex") }) };
}

/** One line of JSON for each row. */
export async function* linesOf(batches: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  for await (const batch of batches) for (const row of batch) yield `${JSON.stringify(row)}\n`;
}

type Chunks = Readable | AsyncIterable<string> | AsyncIterable<Buffer>;

/** Writes a file below the folder, through `through`, and says what it became. */
export async function writeFile(
  folder: string,
  file: string,
  { from, through = [], signal }: { from: Chunks; through?: readonly Transform[]; signal: AbortSignal },
): Promise<BackupFile> {
  const meter = createMeter();
  const target = createWriteStream(path.join(folder, file), { flags: "wx", mode: 0o600, flush: true });
  const source = from instanceof Readable ? from : Readable.from(from);
  await pipeline([source, ...through, meter.stream, target], { signal });
  return { file, ...meter.read() };
}

/** Stores bytes under their hash. */
export async function writeObject(
  folder: string,
  { from, through, signal }: { from: Readable; through: readonly Transform[]; signal: AbortSignal },
): Promise<Pick<BackupObject, "sizeBytes" | "sha256">> {
  const draft = path.join("objects", `${newId()}.part`);
  const { sizeBytes, sha256: hash } = await writeFile(folder, draft, { from, through, signal });
  const file = path.join(folder, objectFile(hash));
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await rename(path.join(folder, draft), file);
  return { sizeBytes, sha256: hash };
}

/** The bytes of an object; null when they are not there or not what the list says. */
export async function readObject(folder: string, object: BackupObject): Promise<Buffer | null> {
  const bytes = await readFile(path.join(folder, objectFile(object.sha256))).catch(nullIfAbsent);
  if (bytes?.length !== object.sizeBytes) return null;
  return createHash("sha256").update(bytes).digest("hex") === object.sha256 ? bytes : null;
}

/** The listed objects in the order of the list. */
export async function* readList(folder: string): AsyncGenerator<BackupObject> {
  for await (const row of readLines(folder, listFile)) yield objectSchema.parse(row);
}

/** What was written as `linesOf`. */
export async function* readLines(folder: string, file: string): AsyncGenerator<unknown> {
  const lines = createInterface({ input: createReadStream(path.join(folder, file)), crlfDelay: Infinity });
  for await (const line of lines) yield JSON.parse(line);
}

/** Opens a file of the backup. */
export function openBackupFile(folder: string, { file }: BackupFile): Readable {
  return createReadStream(path.join(folder, file));
}

/** Throws `bad_request` when a file is not what the manifest says. */
export async function requireWhole(folder: string, wanted: BackupFile, steps: Steps): Promise<void> {
  const found = await stat(path.join(folder, wanted.file)).catch(nullIfAbsent);
  const hash = createHash("sha256");
  if (found?.size === wanted.sizeBytes)
    await pipeline([openBackupFile(folder, wanted), progressOf(steps), hash], { signal: steps.signal });
  if (hash.digest("hex") !== wanted.sha256)
    throw new AppError("bad_request", `The backup is damaged: ${wanted.file} is not as it was written.`);
}

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/**
 * Makes a folder that is a backup only once `write` has ended: until then it has another name. What a failure or an abort
 * left is removed. Throws `conflict` when the folder is there, or when another backup writes it.
 */
export async function makeFolder<T>(folder: string, write: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${folder}.part`;
  if (await stat(folder).catch(nullIfAbsent))
    throw new AppError("conflict", `${folder} is there already. Name a folder that is not.`);
  await mkdir(draft, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw cause;
    const left = "another backup writes it, or was killed while it did; in this case remove it";
    throw new AppError("conflict", `${draft} is there: ${left}.`, { cause });
  });
  try {
    for (const each of ["tables", "objects"]) await mkdir(path.join(draft, each), { mode: 0o700 });
    const result = await write(draft);
    const ofObjects = await readdir(path.join(draft, "objects"));
    const inside = ["tables", ...ofObjects.map((each) => path.join("objects", each)), "objects", ""];
    for (const each of inside) await syncFolder(path.join(draft, each));
    await rename(draft, folder);
    await syncFolder(path.dirname(path.resolve(folder)));
    return result;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

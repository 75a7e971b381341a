import { and, asc, eq, inArray, isNull, sql } from "drizzle-orm";
import { ago, schema, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { discardStaged, insertStaged, type StagedUpload, stageUpload } from "./ingest.ts";
import { discardObjects } from "./outputs.ts";
import { deleteUnusedRows, lockRows } from "./purge.ts";
import { lockUploadsOf } from "./quota.ts";
import { type OpenedFile, openFile } from "./serve.ts";

const { clientFiles, images } = schema;

/** The files of one `userId` of a client of the old job server. Apart from the pictures of the gallery, also for the same bytes. */
export interface ClientFolder {
  readonly ownerId: string;
  readonly userName: string;
}

export interface SentFile {
  /** Of a local file, which the caller removes. */
  readonly path: string;
  readonly fileName: string;
}

/**
 * Stores files, or none of them; one of a known name replaces the picture before. Throws what `ingest` throws.
 */
export async function putClientFiles(
  services: Services,
  folder: ClientFolder,
  { files, signal }: { readonly files: readonly SentFile[]; readonly signal: AbortSignal },
): Promise<void> {
  // Of two files with one name the last one counts, as if they had been sent one after the other.
  const byName = new Map(files.map((file) => [file.fileName, file]));
  const staged = new Map<string, StagedUpload>();
  try {
    for (const [name, { path }] of byName) {
      const { ownerId } = folder;
      const input = { ownerId, role: "upload", bytes: path, name, signal, apart: newId() } as const;
      staged.set(name, await stageUpload(services, input));
    }
    signal.throwIfAborted();
    const replaced = await services.db.transaction((tx) => replace(services, tx, { folder, staged }));
    await discardObjects(services, replaced);
  } catch (error) {
    for (const row of staged.values()) await discardStaged(services, row);
    throw error;
  }
}

interface Replacing {
  readonly folder: ClientFolder;
  readonly staged: ReadonlyMap<string, StagedUpload>;
}

/** Returns the key prefixes of the pictures that were replaced. */
async function replace(services: Services, tx: Tx, { folder, staged }: Replacing): Promise<string[]> {
  // Two replacements of one name at once: the second one finds the file of the first.
  await lockUploadsOf(tx, folder.ownerId);
  const { fileName, imageId, createdAt } = clientFiles;
  const old = await tx
    .select({ fileName, imageId, createdAt })
    .from(clientFiles)
    .where(and(isIn(folder), inArray(fileName, [...staged.keys()])));
  const oldIds = old.map((row) => row.imageId);
  await lockRows(tx, oldIds);
  await tx.delete(clientFiles).where(and(isIn(folder), inArray(clientFiles.imageId, oldIds)));
  // Before the new rows, so that what is replaced does not count against the quota.
  const replaced = await deleteUnusedRows(tx, oldIds);
  for (const [name, row] of staged) {
    await insertStaged(tx, services.config, row);
    // The place in the list stays.
    const since = old.find((file) => file.fileName === name)?.createdAt;
    await tx.insert(clientFiles).values({ ...folder, fileName: name, imageId: row.id, createdAt: since });
  }
  return replaced;
}

function isIn({ ownerId, userName }: ClientFolder) {
  return and(eq(clientFiles.ownerId, ownerId), eq(clientFiles.userName, userName));
}

export interface ClientFile {
  readonly imageId: string;
  readonly fileName: string;
  readonly sizeBytes: number;
}

/** Bounds of one answer. */
export const clientListLimits = { files: 50, sizeBytes: 100 * 1_048_576 } as const;

/**
 * The files of a folder, oldest first, as many as one answer may hold; always at least one of those that there are. Those
 * that were in an answer already come again only when there are no others: their answer may not have arrived.
 */
export async function listClientFiles(
  { db }: Pick<Services, "db">,
  folder: ClientFolder,
): Promise<ClientFile[]> {
  const rows = await db
    .select({
      imageId: clientFiles.imageId,
      fileName: clientFiles.fileName,
      sizeBytes: images.sizeBytes,
      isNew: isNull(clientFiles.listedAt),
    })
    .from(clientFiles)
    .innerJoin(images, eq(images.id, clientFiles.imageId))
    .where(and(isIn(folder), isNull(images.deletedAt)))
    .orderBy(sql`${clientFiles.listedAt} is not null`, asc(clientFiles.createdAt), asc(clientFiles.fileName))
    .limit(clientListLimits.files);
  let sizeBytes = 0;
  const hasNew = rows[0]?.isNew === true;
  const wanted = rows.filter(({ isNew }) => Boolean(isNew) === hasNew);
  return wanted.filter((row, at) => {
    sizeBytes += row.sizeBytes;
    return at === 0 || sizeBytes <= clientListLimits.sizeBytes;
  });
}

/** The picture under a name. Throws `not_found`, `file_missing`, `storage_unavailable`. */
export async function openClientFile(
  services: Services,
  folder: ClientFolder,
  { fileName, isHead }: { readonly fileName: string; readonly isHead: boolean },
): Promise<OpenedFile> {
  const [file] = await services.db
    .select({ id: clientFiles.imageId })
    .from(clientFiles)
    .where(and(isIn(folder), eq(clientFiles.fileName, fileName)));
  if (!file) throw new AppError("not_found");
  return openFile(services, { id: file.id, ownerId: folder.ownerId, variant: "original", isHead });
}

/** A whole answer with these files was handed over; starts the time after which they are removed. */
export async function noteListed(
  { db }: Pick<Services, "db">,
  folder: ClientFolder,
  files: readonly Pick<ClientFile, "imageId">[],
): Promise<void> {
  const ids = files.map(({ imageId }) => imageId);
  if (ids.length === 0) return;
  await db
    .update(clientFiles)
    .set({ listedAt: sql`now()` })
    .where(and(isIn(folder), inArray(clientFiles.imageId, ids), isNull(clientFiles.listedAt)));
}

/** Files of one pass; the next pass continues. */
const maxExpired = 200;

/** Removes the files whose time after their answer is over. */
export async function expireClientFiles(services: Services): Promise<void> {
  const { ephemeralAfterAnswerMs } = services.config.retention;
  const due = await services.db
    .select()
    .from(clientFiles)
    .where(sql`${clientFiles.listedAt} < ${ago(ephemeralAfterAnswerMs)}`)
    .orderBy(clientFiles.listedAt)
    .limit(maxExpired);
  const folders = Map.groupBy(due, ({ ownerId, userName }) => `${ownerId}/${userName}`);
  for (const files of folders.values()) if (files[0]) await removeClientFiles(services, files[0], files);
}

/** Removes files with their pictures, unless a job or a star keeps the picture. One that was replaced since stays. */
async function removeClientFiles(
  services: Services,
  folder: ClientFolder,
  files: readonly Pick<ClientFile, "imageId">[],
): Promise<void> {
  const ids = files.map(({ imageId }) => imageId);
  if (ids.length === 0) return;
  const storageKeys = await services.db.transaction(async (tx) => {
    await lockRows(tx, ids);
    await tx.delete(clientFiles).where(and(isIn(folder), inArray(clientFiles.imageId, ids)));
    return deleteUnusedRows(tx, ids);
  });
  await discardObjects(services, storageKeys);
}

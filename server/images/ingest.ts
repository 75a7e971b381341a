import { readFile, stat } from "node:fs/promises";
import { and, eq, isNull, sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError, type Config, newId, oneAtATime } from "../platform/index.ts";
import { instanceIdOf, signCopy } from "../provenance/index.ts";
import { moveConsents } from "../safety.ts";
import type { Services } from "../services.ts";
import { type Words, wordsOf } from "./describe.ts";
import type { ImageFiles } from "./encode.ts";
import { type FilesPlan, makeFiles, planUpload, withFilePermit } from "./files.ts";
import { type ImageRow, type IngestedImage, type IngestInput, toUntagged, uploadKey } from "./image.ts";
import { maxBytesOf } from "./inspect.ts";
import { discardObjects, putFiles, sha256, type StoredFiles } from "./outputs.ts";
import { checkQuota, lockUploadsOf, uploadKeyOf } from "./quota.ts";
import { isLost } from "./serve.ts";

const { images } = schema;

type Ingesting = Pick<Services, "db" | "disk" | "log" | "config" | "env">;

/**
 * Ingests an upload: checks the content, makes the stored files, writes the objects and then the row. The same bytes
 * in the same role are stored once per owner; where the files of that picture are lost, it gets these. A failure leaves
 * neither row nor object behind.
 * Throws the codes `upload_*`, `quota_exceeded` (guests), `storage_quota`, `storage_unavailable`.
 */
export async function ingest(services: Ingesting, input: IngestInput): Promise<IngestedImage> {
  const made = await makeUpload(services, input);
  if ("known" in made) return view(made.known, { created: false, notes: [] });
  return storeUpload(services, made);
}

/** An upload whose objects are written and whose row is not; `insertStaged` adds it in a transaction of the caller. */
export type StagedUpload = Readonly<UploadRow>;

/**
 * `ingest` without the row, for uploads that belong to one transaction with something else. The caller calls
 * `discardStaged` when that fails; after a crash the orphan sweep does. Throws what `ingest` throws.
 */
export async function stageUpload(
  services: Ingesting,
  input: IngestInput & { readonly apart: string },
): Promise<StagedUpload> {
  const made = await makeUpload(services, input);
  if ("known" in made) throw new AppError("conflict");
  try {
    await putFiles(services, made.row.storageKey, made.files);
    return made.row;
  } catch (error) {
    await discardObjects(services, [made.row.storageKey]);
    throw error;
  }
}

/** Adds the row of a staged upload. Throws `quota_exceeded` for guests, `storage_quota`. */
export async function insertStaged(tx: Tx, config: Config, staged: StagedUpload): Promise<void> {
  const inserted = await insertOnce(tx, { row: staged, lostKey: null }, config);
  if (!inserted?.created) throw new AppError("conflict");
}

/** Removes the objects of a staged upload, unless its row was committed. */
export function discardStaged(services: Ingesting, staged: StagedUpload): Promise<void> {
  return discardUnlessCommitted(services, staged);
}

interface MadeUpload {
  readonly row: UploadRow;
  readonly files: StoredFiles;
  readonly notes: FilesPlan["notes"];
  /** The storage key of the owner's picture of these bytes, whose files are lost; null without one. */
  readonly lostKey: string | null;
}

async function makeUpload(
  services: Ingesting,
  input: IngestInput,
): Promise<MadeUpload | { readonly known: ImageRow }> {
  const { ownerId } = input;
  const id = newId();
  const taken = await withFilePermit({ ownerId, weight: "light" }, () => takeIn(services, { ...input, id }));
  if ("known" in taken) return taken;
  const { same, named, plan, lostKey, words } = taken;
  const files =
    taken.files ??
    (await withFilePermit({ ownerId, weight: "heavy" }, () => makeHeavy(services, named, plan)));
  input.signal?.throwIfAborted();
  return {
    row: rowOf({ ...same, id }, files, words),
    files,
    notes: plan.notes,
    lostKey,
  };
}

interface NamedInput extends IngestInput {
  /** Of the image that it becomes. */
  readonly id: string;
}

interface Planned extends Pick<MadeUpload, "lostKey"> {
  readonly same: SameBytes;
  readonly named: NamedInput;
  readonly plan: FilesPlan;
  readonly words: Words;
  /** Null when the picture is heavy. */
  readonly files: ImageFiles | null;
}

type TakenIn = { readonly known: ImageRow } | Planned;

/** Bytes and pixels exist only while the slot is held. */
async function takeIn(services: Ingesting, input: NamedInput): Promise<TakenIn> {
  input.signal?.throwIfAborted();
  const bytes = await readBounded(input);
  const uploadSha256 = hashOf(bytes, input.apart);
  const same: SameBytes = { ownerId: input.ownerId, role: input.role, uploadSha256 };
  const known = await findSameBytes(services.db, same);
  if (known && !(await isLost(services, known))) return { known };
  const lostKey = known && known.storageKey;
  const named = known ? { ...input, id: known.id } : input;
  if (!known) await checkQuota(services.db, services.config, { ...same, sizeBytes: 0 });
  const plan = await planUpload(bytes, input);
  const planned = { same, named, plan, lostKey, words: await wordsOf(bytes, input) };
  if (plan.weight === "heavy") return { ...planned, files: null };
  const files = await makeFiles(bytes, plan);
  return { ...planned, files: await withManifest(services, { bytes, plan, input: named }, files) };
}

/** Of the hash and the text, where one keeps the upload apart: the text never stands for bytes of another upload. */
function hashOf(bytes: Buffer, apart: string | undefined): string {
  const hash = sha256(bytes);
  return apart === undefined ? hash : sha256(Buffer.from(`${hash} ${apart}`));
}

/** A heavy image waits for a slot for heavy images; its bytes are dropped meanwhile and read again. */
async function makeHeavy(services: Ingesting, input: NamedInput, plan: FilesPlan): Promise<ImageFiles> {
  input.signal?.throwIfAborted();
  const files = await makeFiles(await readBounded(input), plan, input.signal);
  return withManifest(services, { bytes: await readBounded(input), plan, input }, files);
}

interface Sent {
  readonly bytes: Buffer;
  readonly plan: FilesPlan;
  readonly input: NamedInput;
}

/** A picture that comes with a statement of its origin keeps it: in a new one, since its file is a new one. */
async function withManifest(
  services: Ingesting,
  { bytes, plan: { task }, input }: Sent,
  files: ImageFiles,
): Promise<ImageFiles> {
  if (task.as !== "photo") return files;
  const hash = sha256(bytes);
  const mime = `image/${task.format}`;
  const original = await signCopy(services, files.original, {
    instanceId: instanceIdOf(input.id),
    mime: files.mime,
    action: "c2pa.transcoded",
    source: { bytes, mime, instanceId: `urn:sha256:${hash}`, sha256: hash },
  });
  return { ...files, original };
}

async function readBounded({ bytes, scaleDown = false }: IngestInput): Promise<Buffer> {
  const sizeBytes = typeof bytes === "string" ? (await stat(bytes)).size : bytes.length;
  if (sizeBytes > maxBytesOf({ scaleDown })) throw new AppError("upload_too_large");
  return typeof bytes === "string" ? readFile(bytes) : bytes;
}

interface UploadRow extends Omit<typeof images.$inferInsert, "role" | "uploadSha256" | "addedAt"> {
  readonly role: IngestInput["role"];
  readonly uploadSha256: string;
}

type SameBytes = Pick<UploadRow, "ownerId" | "role" | "uploadSha256">;

function rowOf(same: SameBytes & Pick<UploadRow, "id">, files: ImageFiles, words: Words): UploadRow {
  return {
    ...same,
    storageKey: uploadKey(same.ownerId, same.id),
    storedSha256: sha256(files.original),
    mime: files.mime,
    widthPx: files.widthPx,
    heightPx: files.heightPx,
    sizeBytes: files.original.length,
    thumbhash: files.thumbhash,
    ...words,
  };
}

/**
 * Writes files and row of an upload, unless the owner has it already; a picture whose files are lost gets these. Its
 * old files are left to the orphan sweep: a job that read the row before may still use them.
 */
export async function storeUpload(
  services: Ingesting,
  { row, files, notes, lostKey }: MadeUpload,
): Promise<IngestedImage> {
  try {
    await putFiles(services, row.storageKey, files);
    const inserted = await insertUpload(services, { row, lostKey });
    if (inserted.row.storageKey !== row.storageKey) await discardObjects(services, [row.storageKey]);
    return view(inserted.row, { created: inserted.created, notes });
  } catch (error) {
    await discardUnlessCommitted(services, row);
    throw error;
  }
}

/** A lost answer may hide a commit: objects are removed only when the row is certainly absent; else the orphan sweep decides. */
async function discardUnlessCommitted(services: Ingesting, row: UploadRow): Promise<void> {
  try {
    const isTheirs = eq(images.storageKey, row.storageKey);
    const found = await services.db.select({ id: images.id }).from(images).where(isTheirs);
    if (found.length === 0) await discardObjects(services, [row.storageKey]);
  } catch (error) {
    services.log.warn({ err: error, storageKey: row.storageKey }, "objects left to the orphan sweep");
  }
}

function view(row: ImageRow, how: Pick<IngestedImage, "created" | "notes">): IngestedImage {
  return { ...toUntagged(row, null), ...how };
}

/** The owner's picture of the same bytes in the same role, unless it was deleted. */
export async function findSameBytes(
  db: Db | Tx,
  { ownerId, role, uploadSha256 }: SameBytes,
): Promise<ImageRow | null> {
  const [row] = await db
    .select()
    .from(images)
    .where(
      and(
        eq(images.ownerId, ownerId),
        eq(images.role, role),
        eq(images.uploadSha256, uploadSha256),
        isNull(images.deletedAt),
      ),
    );
  return row ?? null;
}

type StoredUpload = Pick<MadeUpload, "row" | "lostKey">;

interface InsertedUpload {
  readonly row: ImageRow;
  readonly created: boolean;
}

/** Limit of attempts for an image that is deleted and uploaded again at the same time. */
const maxTries = 5;

/**
 * Inserts the row, or returns the one that another upload of the same bytes inserted first: the owner's lock and the
 * unique index decide that race. Throws `quota_exceeded` for guests, `storage_quota`.
 */
async function insertUpload(
  services: Pick<Services, "db" | "config">,
  stored: StoredUpload,
): Promise<InsertedUpload> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const inserted = await oneAtATime(uploadKeyOf(stored.row.ownerId), () =>
      services.db.transaction((tx) => insertOnce(tx, stored, services.config)),
    );
    if (inserted) return inserted;
    // A writer without the lock (the merge of a guest) was first: look again.
  }
  throw new AppError("conflict");
}

async function insertOnce(
  tx: Tx,
  { row, lostKey }: StoredUpload,
  config: Config,
): Promise<InsertedUpload | null> {
  await lockUploadsOf(tx, row.ownerId);
  const twin = await findSameBytes(tx, row);
  if (twin && twin.storageKey === lostKey) return { row: await replaceFiles(tx, twin, row), created: false };
  if (twin) return { row: twin, created: false };
  await checkQuota(tx, config, row);
  // With the time of the transaction, as `created_at` has it by default.
  const values = { ...row, addedAt: row.createdAt && sql`now()` };
  const [inserted] = await tx.insert(images).values(values).onConflictDoNothing().returning();
  return inserted ? { row: inserted, created: true } : null;
}

/** Gives a picture whose files are lost the files that were stored for its bytes. */
async function replaceFiles(tx: Tx, lost: ImageRow, stored: UploadRow): Promise<ImageRow> {
  const { storageKey, storedSha256, mime, widthPx, heightPx, sizeBytes, thumbhash } = stored;
  const files = { storageKey, storedSha256, mime, widthPx, heightPx, sizeBytes, thumbhash };
  const [row] = await tx.update(images).set(files).where(eq(images.id, lost.id)).returning();
  if (!row) throw new AppError("conflict");
  await moveConsents(tx, { ownerId: lost.ownerId, from: lost.storedSha256, to: storedSha256 });
  return row;
}

import { readFile, stat } from "node:fs/promises";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { takeDecodeTurn } from "./decode-slot.ts";
import { discardOutput } from "./discard-output.ts";
import { checkQuota } from "./quota.ts";
import { findSameBytes, insertUpload, type SameBytes, type UploadRow } from "./insert-upload.ts";
import { uploadLimits } from "./limits.ts";
import type { ImageFiles } from "./encode.ts";
import { makeFiles, planUpload, type FilesPlan } from "./files.ts";
import { uploadKey } from "./object-keys.ts";
import { putFiles, sha256 } from "./put-files.ts";
import { titleOfFile } from "./clean-title.ts";
import { toImageView, type ImageRow } from "./to-view.ts";
import type { IngestedImage, IngestInput } from "./image.ts";

type Ingesting = Pick<Services, "db" | "disk" | "log" | "config">;

/**
 * Takes in a picture: checks the content, makes the stored files, writes the objects and then the row. The same bytes
 * in the same role are stored once per owner. Whatever fails leaves neither row nor object behind.
 * Throws the codes `upload_*`, `quota_exceeded` (guests), `storage_quota`, `storage_unavailable`.
 */
export async function ingest(services: Ingesting, input: IngestInput): Promise<IngestedImage> {
  const { ownerId } = input;
  const taken = await takeDecodeTurn({ ownerId, weight: "light" }, () => takeIn(services, input));
  if ("known" in taken) return view(taken.known, false);
  const { same, plan } = taken;
  const files =
    taken.files ?? (await takeDecodeTurn({ ownerId, weight: "heavy" }, () => makeHeavy(input, plan)));
  input.signal?.throwIfAborted();
  return store(services, rowOf(same, files, titleOfFile(input.name ?? "")), files);
}

interface Planned {
  readonly same: SameBytes;
  readonly plan: FilesPlan;
  /** Null when the picture is heavy. */
  readonly files: ImageFiles | null;
}

type TakenIn = { readonly known: ImageRow } | Planned;

/** A heavy picture waits for a turn of its own: its bytes are dropped and read again then. */
async function makeHeavy({ bytes, signal }: IngestInput, plan: FilesPlan): Promise<ImageFiles> {
  signal?.throwIfAborted();
  return makeFiles(await readBounded(bytes), plan, signal);
}

/** Bytes and pixels exist only while the turn lasts. */
async function takeIn(services: Ingesting, input: IngestInput): Promise<TakenIn> {
  input.signal?.throwIfAborted();
  const bytes = await readBounded(input.bytes);
  const same: SameBytes = { ownerId: input.ownerId, role: input.role, uploadSha256: sha256(bytes) };
  const known = await findSameBytes(services.db, same);
  if (known) return { known };
  await checkQuota(services.db, services.config, { ...same, sizeBytes: 0 });
  const plan = await planUpload(bytes, input.role);
  return { same, plan, files: plan.weight === "light" ? await makeFiles(bytes, plan) : null };
}

async function readBounded(bytes: Buffer | string): Promise<Buffer> {
  const sizeBytes = typeof bytes === "string" ? (await stat(bytes)).size : bytes.length;
  if (sizeBytes > uploadLimits.sizeBytes) throw new AppError("upload_too_large");
  return typeof bytes === "string" ? readFile(bytes) : bytes;
}

function rowOf(same: SameBytes, files: ImageFiles, title: string): UploadRow {
  const id = newId();
  return {
    ...same,
    id,
    storageKey: uploadKey(same.ownerId, id),
    storedSha256: sha256(files.original),
    mime: files.mime,
    widthPx: files.widthPx,
    heightPx: files.heightPx,
    sizeBytes: files.original.length,
    thumbhash: files.thumbhash,
    title,
  };
}

async function store(services: Ingesting, row: UploadRow, files: ImageFiles): Promise<IngestedImage> {
  try {
    await putFiles(services, row.storageKey, files);
    const inserted = await insertUpload(services, row);
    if (!inserted.created) await discardOutput(services, row.storageKey);
    return view(inserted.row, inserted.created);
  } catch (error) {
    await discardUnlessCommitted(services, row);
    throw error;
  }
}

/** A lost answer may hide a commit: objects go only when the row is surely absent; else the orphan sweep decides. */
async function discardUnlessCommitted(services: Ingesting, row: UploadRow): Promise<void> {
  const { images } = schema;
  try {
    const found = await services.db.select({ id: images.id }).from(images).where(eq(images.id, row.id));
    if (found.length === 0) await discardOutput(services, row.storageKey);
  } catch (error) {
    services.log.warn({ err: error, storageKey: row.storageKey }, "objects left to the orphan sweep");
  }
}

function view(row: ImageRow, created: boolean): IngestedImage {
  return { ...toImageView(row, null), created };
}

import { readFile, stat } from "node:fs/promises";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { withDecodeSlot } from "./decode-slot.ts";
import { discardOutput } from "./discard-output.ts";
import { checkQuota } from "./guest-limit.ts";
import { findSameBytes, insertUpload, type SameBytes, type UploadRow } from "./insert-upload.ts";
import { uploadLimits } from "./limits.ts";
import { makeMaskFiles, makeUploadFiles, type ImageFiles } from "./make-files.ts";
import { uploadKey } from "./object-keys.ts";
import { putFiles, sha256 } from "./put-files.ts";
import { titleOfFile } from "./clean-title.ts";
import { toImageView, type ImageRow } from "./to-view.ts";
import type { IngestedImage, IngestInput } from "./stored-image.ts";

type Ingesting = Pick<Services, "db" | "disk" | "log" | "config">;

/**
 * Takes in a picture: checks the content, makes the stored files, writes the objects and then the row. The same bytes
 * in the same role are stored once per owner. Whatever fails leaves neither row nor object behind.
 * Throws the codes `upload_*`, `quota_exceeded` (guests), `storage_quota`, `storage_unavailable`.
 */
export async function ingest(services: Ingesting, input: IngestInput): Promise<IngestedImage> {
  const taken = await withDecodeSlot(() => takeIn(services, input));
  if ("known" in taken) return view(taken.known, false);
  input.signal?.throwIfAborted();
  return store(services, taken.row, taken.files);
}

type TakenIn = { readonly known: ImageRow } | { readonly row: UploadRow; readonly files: ImageFiles };

/** All that needs the file's bytes: they and the decoded pixels exist only while the slot is held. */
async function takeIn(services: Ingesting, input: IngestInput): Promise<TakenIn> {
  input.signal?.throwIfAborted();
  const bytes = await readBounded(input.bytes);
  const same: SameBytes = { ownerId: input.ownerId, role: input.role, uploadSha256: sha256(bytes) };
  const known = await findSameBytes(services.db, same);
  if (known) return { known };
  await checkQuota(services.db, services.config, { ...same, sizeBytes: 0 });
  const files = await (input.role === "mask" ? makeMaskFiles(bytes) : makeUploadFiles(bytes));
  return { row: rowOf(same, files, titleOfFile(input.name ?? "")), files };
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

import { eq } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { isAppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type ImageRow, type IngestedImage, isAiPicture, toUntagged, uploadKey } from "./image.ts";
import { findSameBytes, storeUpload } from "./ingest.ts";
import { readFiles } from "./outputs.ts";
import { checkQuota } from "./quota.ts";
import { isLost } from "./serve.ts";

/**
 * Stores a picture of another user once more as an upload of `ownerId`, with the same files and title;
 * its description is its owner's alone. Whoever copies the same picture again gets
 * the first copy. Throws `storage_quota`, `quota_exceeded` (guests), `file_missing`, `storage_unavailable`.
 */
export async function copyPicture(
  services: Pick<Services, "config" | "db" | "disk" | "env" | "log">,
  { source, ownerId }: { readonly source: ImageRow; readonly ownerId: string },
): Promise<IngestedImage> {
  const same = { ownerId, role: "upload", uploadSha256: source.storedSha256 } as const;
  const known = await findSameBytes(services.db, same);
  const asKnown = (row: ImageRow) =>
    markCopy(services.db, source, { ...toUntagged(row, null), created: false, notes: [] });
  if (known && !(await isLost(services, known))) return asKnown(known);
  if (!known) await checkQuota(services.db, services.config, { ...same, sizeBytes: source.sizeBytes });
  const files = await readFiles(services, source).catch((error: unknown) => {
    // A source that is not whole is no help: the copy keeps what it has.
    if (known && isAppError(error) && error.code === "file_missing") return known;
    throw error;
  });
  if ("id" in files) return asKnown(files);
  const id = newId();
  const { storedSha256, mime, widthPx, heightPx, sizeBytes, thumbhash, title } = source;
  const facts = { storedSha256, mime, widthPx, heightPx, sizeBytes, thumbhash, title };
  const stored = await storeUpload(services, {
    // A photo stands at its day for its new owner as well.
    row: {
      ...same,
      ...facts,
      ...(source.addedAt && { createdAt: source.createdAt }),
      copyOfAi: isAiPicture(source),
      id,
      storageKey: uploadKey(ownerId, id),
    },
    files,
    notes: [],
    lostKey: known && known.storageKey,
  });
  return markCopy(services.db, source, stored);
}

/** The user may have uploaded the same bytes by hand, when nothing told that AI made them. */
async function markCopy(db: Db, source: ImageRow, copy: IngestedImage): Promise<IngestedImage> {
  if (copy.isAi || !isAiPicture(source)) return copy;
  await db.update(schema.images).set({ copyOfAi: true }).where(eq(schema.images.id, copy.id));
  return { ...copy, isAi: true };
}

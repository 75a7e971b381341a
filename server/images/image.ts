import type { JobKind } from "../engines/index.ts";
import type { ImageView } from "./image-view.ts";

/** Media types under which originals are stored and served. */
export type StoredMime = "image/jpeg" | "image/png" | "image/webp";

/** Which file of a picture: as stored, at most 1,280 px, at most 320 px on the longer side. */
export type Variant = "original" | "preview" | "thumbnail";

export const variants = ["original", "preview", "thumbnail"] as const satisfies readonly Variant[];

/** What finds a picture's objects: the columns `storage_key` and `mime` of its row. */
export interface StoredObject {
  readonly storageKey: string;
  readonly mime: string;
}

/** The same with what the row knows about the original, by which a damaged file is noticed. */
export interface StoredOriginal extends StoredObject {
  readonly sizeBytes: number;
}

export interface IngestInput {
  readonly ownerId: string;
  readonly role: "upload" | "mask";
  /** The file's bytes, or the path of a local file that the caller removes. */
  readonly bytes: Buffer | string;
  /** The file's name as sent; only used, cleaned, as the title. */
  readonly name?: string | undefined;
  /** Aborting stops before the next step; nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
}

/** `created` is false when the owner had sent the same bytes in this role before. */
export type IngestedImage = ImageView & { readonly created: boolean };

export interface StoreOutputInput {
  readonly ownerId: string;
  readonly jobId: string;
  readonly attempt: number;
  /** Decides the mark of origin that is embedded. */
  readonly kind: JobKind;
  /** Place among the outputs of the job, from 0. */
  readonly position: number;
  readonly path: string;
  readonly mime: StoredMime;
}

/** Columns of the image's row; the caller inserts it in the transaction that completes the job. */
export interface StoredOutput {
  readonly id: string;
  readonly storageKey: string;
  readonly storedSha256: string;
  readonly mime: StoredMime;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly sizeBytes: number;
  /** Base64. */
  readonly thumbhash: string;
}

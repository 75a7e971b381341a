import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { type Db, type ImageRole, schema } from "../db/index.ts";
import type { InputRole, JobKind } from "../engines.ts";
import { AppError, isId } from "../platform/index.ts";

/** A picture in a list. Its files: `/api/v1/images/{id}/file?variant=original|preview|thumbnail`. */
export interface ImageView {
  readonly id: string;
  readonly role: ImageRole;
  readonly mime: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly sizeBytes: number;
  /** Base64. */
  readonly thumbhash: string;
  readonly title: string;
  /** What it shows or was made of, also in several lines; empty without one. */
  readonly description: string;
  readonly starred: boolean;
  /** 1 to 5, or 0 for none. */
  readonly rating: number;
  /** Names of its tags, by the alphabet. */
  readonly tags: readonly string[];
  /** Versions of one picture, and the results of one batch, are a stack; any other picture is one of its own. */
  readonly stackId: string;
  /** Since when it shows its stack by choice, ISO 8601, UTC; of several the last one does, of none the newest picture. */
  readonly toppedAt: string | null;
  /** The job that made it and that job's kind; null for uploads. */
  readonly jobId: string | null;
  readonly kind: JobKind | null;
  /** Marked "AI" on screen: every result but an upload that was only adjusted, cropped or restored, and copies of those that are marked. */
  readonly isAi: boolean;
  /** When it was made, of a photo whose file says so when it was taken; ISO 8601, UTC. */
  readonly createdAt: string;
  /** When it came into the studio; as `createdAt`, unless that is when it was taken. */
  readonly addedAt: string;
}

/** Media types under which originals are stored and served. */
export type StoredMime = "image/jpeg" | "image/png" | "image/webp";

/** Which file of a picture: as stored, at most 1,280 px, at most 320 px on the longer side. */
export type Variant = "original" | "preview" | "thumbnail";

export const variants = ["original", "preview", "thumbnail"] as const satisfies readonly Variant[];

/** A format that a picture can be asked for in. */
export const answerFormats = ["jpeg", "png", "webp"] as const;
export type AnswerFormat = (typeof answerFormats)[number];

/** A picture as it is asked for. */
export interface Conversion {
  readonly format: AnswerFormat;
  /** 1..100, of JPEG and WebP, which is lossless without it. */
  readonly quality?: number | undefined;
  /** Of the longer side; a picture that has fewer keeps its own. */
  readonly longestPx?: number | undefined;
}

/** The columns that locate an image's objects. */
export interface StoredObject {
  readonly storageKey: string;
  readonly mime: string;
}

/** With the stored facts about the original, to detect a damaged file. */
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
  /** Of the sender, by its IANA name: cameras write times without one. */
  readonly timezone?: string | undefined;
  /** Scales a picture above the limit of pixels down to it instead of refusing it. */
  readonly scaleDown?: boolean | undefined;
  /** Makes the upload a picture of its own: the same bytes without this text, or with another one, are not the same upload. */
  readonly apart?: string | undefined;
  /** Aborting stops before the next step; nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
}

/** Of several pictures in a file the first was taken; rows at its end are missing and grey; it was scaled down. */
export const uploadNotes = ["first_picture", "end_missing", "scaled_down"] as const;
export type UploadNote = (typeof uploadNotes)[number];

/** `created` is false when the owner had sent the same bytes in this role before. */
export type IngestedImage = Omit<ImageView, "tags"> & {
  readonly created: boolean;
  readonly notes: readonly UploadNote[];
};

export interface StoreOutputInput {
  /** Of the image; default: a new one. */
  readonly id?: string;
  readonly ownerId: string;
  readonly jobId: string;
  /** The attempt of the job, or a UUID of its own: two that store at once must not share keys. */
  readonly attempt: number | string;
  /** Decides the mark of origin that is embedded. */
  readonly kind: JobKind;
  /** No AI had a part in it; that is marked too. Default: false. */
  readonly nothingGenerated?: boolean;
  /** Position among the outputs of the job, from 0. */
  readonly position: number;
  readonly path: string;
  readonly mime: StoredMime;
  /** Files with the inputs of the job, by role, for the manifests in them; others are read from the store. */
  readonly inputFiles?: Partial<Record<InputRole, string>>;
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
  readonly nothingGenerated: boolean;
}

const extensions = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
} as const satisfies Record<StoredMime, string>;

function isStoredMime(mime: string): mime is StoredMime {
  return Object.hasOwn(extensions, mime);
}

/** File extension without the dot. */
export function extensionOf(mime: string): string {
  return isStoredMime(mime) ? extensions[mime] : "bin";
}

/** Media type of an object by the extension of its key. */
export function mimeOfKey(key: string): string {
  const found = Object.entries(extensions).find(([, extension]) => key.endsWith(`.${extension}`));
  return found?.[0] ?? "application/octet-stream";
}

export function uploadKey(ownerId: string, imageId: string): string {
  return `users/${ownerId}/${imageId}`;
}

export function outputKey(output: { jobId: string; attempt: number | string; position: number }): string {
  return `jobs/${output.jobId}/${output.attempt}/${output.position}`;
}

/** Key of one file of a picture. */
export function objectKey({ storageKey, mime }: StoredObject, variant: Variant): string {
  return `${storageKey}/${variant}.${variant === "original" ? extensionOf(mime) : "webp"}`;
}

/** Media type under which a file of a picture is served. */
export function variantMime(mime: string, variant: Variant): string {
  return variant === "original" ? mime : "image/webp";
}

export type ImageRow = typeof schema.images.$inferSelect;

export type AiFacts = Pick<ImageRow, "copyOfAi" | "jobId" | "nothingGenerated" | "role">;

/** Whether AI had a part in a picture, as far as the studio made it or knows what it was copied from. */
export function isAiPicture(row: AiFacts): boolean {
  return row.role === "upload" ? row.copyOfAi : row.jobId !== null && !row.nothingGenerated;
}

/** A row as people and programs see it, without its tags; `kind` is that of the job that made it. */
export function toUntagged(row: ImageRow, kind: JobKind | null): Omit<ImageView, "tags"> {
  return {
    id: row.id,
    role: row.role,
    mime: row.mime,
    widthPx: row.widthPx,
    heightPx: row.heightPx,
    sizeBytes: row.sizeBytes,
    thumbhash: row.thumbhash,
    title: row.title,
    description: row.description,
    starred: row.starred,
    rating: row.rating,
    stackId: row.stackId ?? row.id,
    toppedAt: row.toppedAt?.toISOString() ?? null,
    jobId: row.jobId,
    kind,
    isAi: isAiPicture(row),
    createdAt: row.createdAt.toISOString(),
    addedAt: (row.addedAt ?? row.createdAt).toISOString(),
  };
}

const { images, imageTags, jobs, tags } = schema;

/** What is read of a picture for its view, from `images` with the job that made it as a left join. */
export const viewColumns = {
  image: images,
  kind: jobs.kind,
  tags: sql<
    string[]
  >`array(select ${tags.name} from ${imageTags} join ${tags} on ${tags.id} = ${imageTags.tagId}
    where ${imageTags.imageId} = ${images.id} order by ${tags.key})`,
};

export function toImageView(row: {
  readonly image: ImageRow;
  readonly kind: JobKind | null;
  readonly tags: readonly string[];
}): ImageView {
  return { ...toUntagged(row.image, row.kind), tags: row.tags };
}

export interface OwnImageInput {
  readonly ownerId: string;
  readonly id: string;
}

/** Condition of a statement: this image, of this owner, not deleted. Throws `not_found` for a malformed id. */
export function isOwn({ ownerId, id }: OwnImageInput): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(images.id, id), eq(images.ownerId, ownerId), isNull(images.deletedAt));
}

/** Also a deleted one, while it can still be restored. Throws `not_found` for a malformed id. */
export function isOwnOrTrashed({ ownerId, id }: OwnImageInput): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  const isKept = sql`(${images.deletedAt} is null or ${images.deletedAt} > to_timestamp(0))`;
  return and(eq(images.id, id), eq(images.ownerId, ownerId), isKept);
}

/** Throws `not_found` for a foreign, a deleted and an unknown image alike. */
export async function findOwnImage(
  db: Db,
  input: OwnImageInput,
  which = isOwn(input),
): Promise<{ image: ImageRow; kind: JobKind | null; tags: string[] }> {
  const [found] = await db
    .select(viewColumns)
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(which);
  if (!found) throw new AppError("not_found");
  return found;
}

/** Own pictures in the order of these ids, read at once. Throws `not_found` unless all are there. */
export async function getImages(
  { db }: { readonly db: Db },
  { ownerId, ids }: { readonly ownerId: string; readonly ids: readonly string[] },
): Promise<ImageView[]> {
  const rows = await db
    .select(viewColumns)
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(inArray(images.id, ids.filter(isId)), eq(images.ownerId, ownerId), isNull(images.deletedAt)));
  const found = new Map(rows.map((row) => [row.image.id, row]));
  return ids.map((id) => {
    const row = found.get(id.toLowerCase());
    if (!row) throw new AppError("not_found");
    return toImageView(row);
  });
}

import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { AppError, newId, orAborted, orLate } from "../platform/index.ts";
import { instanceIdOf, signCopy } from "../provenance/index.ts";
import type { Services } from "../services.ts";
import { findObject, type ImageDisk, openObject, type OpenObject, storageFailure } from "../storage/index.ts";
import { type PngText, textChunks, withChunksBehindHeader } from "./formats/png-write.ts";
import { withFilePermit } from "./files.ts";
import {
  type Conversion,
  extensionOf,
  findOwnImage,
  type ImageRow,
  objectKey,
  isOwn,
  isOwnOrTrashed,
  type OwnImageInput,
  type StoredOriginal,
  type Variant,
  variantMime,
  variants,
} from "./image.ts";
import { isOwnStore } from "./store-mark.ts";
import { whitenHiddenIn } from "./transparency.ts";

export interface OpenFileInput extends OwnImageInput {
  readonly variant: Variant;
  /** What an original that is a PNG carries beside its pixels on its way; other files go as they are. */
  readonly texts?: readonly PngText[] | undefined;
  /** The file that its headers tell of, which `openAs` makes of the original. */
  readonly as?: Conversion | undefined;
  /** Asks the browser to save the file instead of showing it. */
  readonly download?: boolean | undefined;
  /** The request's If-None-Match. */
  readonly ifNoneMatch?: string | null | undefined;
  /** Only the headers are wanted. */
  readonly isHead?: boolean;
  /** The caller may be sent to the store; the studio does not learn then whether the file was read. */
  readonly allowsLink?: boolean;
  /** A picture of the trash is opened, too. */
  readonly allowsTrash?: boolean;
}

export interface OpenedFile {
  readonly headers: Readonly<Record<string, string>>;
  /** The caller's copy is still right (304). */
  readonly isCurrent: boolean;
  /** Null without a need for it. The caller reads it to its end or destroys it. */
  readonly body: Readable | null;
  /** Where the caller gets the file, instead of a body. */
  readonly link: string | null;
}

type Opening = Pick<Services, "db" | "disk" | "log" | "env">;

function whichOf(input: OpenFileInput) {
  return input.allowsTrash === true ? isOwnOrTrashed(input) : isOwn(input);
}

/**
 * A file of an own picture with the headers to serve it, by one request to the store (two with texts), or a link to it by
 * none. Throws `not_found`, `file_missing`, `storage_unavailable`.
 */
export async function openFile(services: Opening, input: OpenFileInput): Promise<OpenedFile> {
  const { image: row } = await findOwnImage(services.db, input, whichOf(input));
  const chunks = chunksFor(row, input);
  const headers = fileHeaders(row, { ...input, chunks });
  if (isKnown(input.ifNoneMatch, headers.etag))
    return { headers: { ...headers }, isCurrent: true, body: null, link: null };
  const key = objectKey(row, input.variant);
  const link =
    input.allowsLink && !input.isHead && chunks.length === 0
      ? await signLink(services.disk, key, headers)
      : null;
  if (link !== null) return { headers: linkHeaders, isCurrent: false, body: null, link };
  // A file with chunks is opened when its turn comes.
  const found =
    input.isHead || chunks.length > 0
      ? await findObject(services.disk, key)
      : await openObject(services.disk, key);
  if (!found) {
    services.log.warn({ imageId: row.id, key }, "the object of a picture is missing");
    throw new AppError("file_missing");
  }
  if (isDamaged(row, input.variant, found)) {
    if ("stream" in found) found.stream.destroy();
    const sizes = { sizeBytes: found.sizeBytes, expectedBytes: row.sizeBytes };
    services.log.error({ imageId: row.id, key, ...sizes }, "the file of a picture is damaged");
    throw new AppError("not_found");
  }
  const sent = await bodyOf(services, { row, chunks, found });
  const sized = { ...headers, "content-length": String(sent.sizeBytes) };
  return { headers: sized, isCurrent: false, body: input.isHead ? null : sent.body, link: null };
}

function chunksFor({ mime }: ImageRow, { variant, texts = [] }: OpenFileInput): Buffer {
  return textChunks(variant === "original" && mime === "image/png" ? texts : []);
}

interface Found {
  readonly row: ImageRow;
  readonly chunks: Buffer;
  readonly found: Pick<OpenObject, "sizeBytes"> & Partial<Pick<OpenObject, "stream">>;
}

async function bodyOf(services: Opening, { row, chunks, found }: Found) {
  if (chunks.length === 0) return { body: found.stream ?? null, sizeBytes: found.sizeBytes };
  // How long it is, only its bytes tell.
  const whole = await withChunks(services, { row, chunks });
  return { body: Readable.from([whole], { objectMode: false }), sizeBytes: whole.length };
}

/** The whole file with its chunks: what they change in it needs a manifest of its own, which is made of all of it. */
async function withChunks(services: Opening, { row, chunks }: Omit<Found, "found">): Promise<Buffer> {
  const { id, ownerId, mime, storedSha256 } = row;
  return withFilePermit({ ownerId, weight: "heavy" }, async () => {
    const opened = await openObject(services.disk, objectKey(row, "original"));
    if (!opened) throw new AppError("file_missing");
    const bytes = await buffer(opened.stream).catch((error: unknown) => {
      throw storageFailure(error);
    });
    return signCopy(services, withChunksBehindHeader(bytes, chunks), {
      instanceId: instanceIdOf(newId()),
      mime,
      action: "c2pa.edited.metadata",
      source: { bytes, mime, instanceId: instanceIdOf(id), sha256: storedSha256 },
    });
  });
}

/** The link itself is not kept, so that each view asks whether the picture is still the caller's. */
const linkHeaders = { "cache-control": "private, no-store", vary: "Cookie, Authorization" };

function signLink({ driver }: ImageDisk, key: string, headers: FileHeaders): Promise<string | null> {
  return driver.signGet(key, { mime: headers["content-type"], disposition: headers["content-disposition"] });
}

function isKnown(ifNoneMatch: string | null | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag.replace(/^W\//, "")) || tags.includes("*");
}

/** Only the size of the original is known; a power cut leaves the others empty at worst. */
function isDamaged({ sizeBytes }: ImageRow, variant: Variant, found: Pick<OpenObject, "sizeBytes">): boolean {
  return variant === "original" ? found.sizeBytes !== sizeBytes : found.sizeBytes === 0;
}

/** Callers hold a permit for files meanwhile, and a silent store is asked for minutes. */
const lossMs = 5_000;

/**
 * Whether files of a picture are gone or damaged, and for good: the store is the studio's own. One that is away, or another one in
 * its place, as below a disk that is not mounted, tells nothing, nor does one that is silent for `lossMs`.
 */
export async function isLost(
  services: Pick<Services, "db" | "disk" | "log">,
  image: ImageRow,
): Promise<boolean> {
  const isThere = async (variant: Variant) => {
    const found = await findObject(services.disk, objectKey(image, variant));
    return found !== null && !isDamaged(image, variant, found);
  };
  const isLacking = async () =>
    !(await Promise.all(variants.map(isThere))).every(Boolean) && (await isOwnStore(services));
  try {
    return await orLate(isLacking(), lossMs, () => {
      throw new Error("The image store does not answer.");
    });
  } catch (error) {
    services.log.warn({ err: error, imageId: image.id }, "whether a picture has its files is not known");
    return false;
  }
}

type Named = Pick<ImageRow, "id" | "title" | "mime" | "storedSha256">;

interface FileHeaders {
  readonly etag: string;
  readonly "content-type": string;
  readonly "content-disposition": string;
  readonly "cache-control": string;
  readonly vary: string;
  readonly "x-content-type-options": "nosniff";
  readonly "content-security-policy": string;
  readonly "cross-origin-resource-policy": "same-origin";
}

/** Headers that let browsers treat the file as an image only: fixed type, no sniffing, no scripts, private. */
function fileHeaders(
  image: Named,
  { variant, download, as, chunks }: Pick<OpenFileInput, "as" | "variant" | "download"> & { chunks: Buffer },
): FileHeaders {
  const mime = as ? `image/${as.format}` : variantMime(image.mime, variant);
  const asked = as ? `-${as.format}-${as.quality ?? ""}-${as.longestPx ?? ""}` : "";
  // Weak: its manifest is signed anew each time.
  const weak = chunks.length === 0 && !as ? "" : "W/";
  const carried =
    chunks.length === 0 ? "" : `-${createHash("sha256").update(chunks).digest("hex").slice(0, 16)}`;
  return {
    etag: `${weak}"${image.storedSha256.slice(0, 32)}-${variant}${carried}${asked}"`,
    "content-type": mime,
    "content-disposition": disposition(image, mime, download ? "attachment" : "inline"),
    // Revalidated each time (304), so that after a sign-out the next user of the browser sees nothing.
    "cache-control": "private, no-cache",
    vary: "Cookie, Authorization",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
  };
}

/** Windows takes these for devices, whatever follows the first dot: no such file of a zip is unpacked there. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])(?=\s*(?:\.|$))/i;

/** What the file of a picture is called, without its extension: its title, as every system takes it. */
export function baseNameOf({ title, id }: Pick<ImageRow, "title" | "id">): string {
  const base = title.replaceAll(/[/\\:*?"<>|]/g, "").replace(/^[.\s]+/, "") || `atelier-${id}`;
  return base.replace(deviceName, "_$&");
}

/** RFC 6266: a plain name for old clients, the full one in UTF-8. */
function disposition(image: Named, mime: string, type: "inline" | "attachment"): string {
  const extension = extensionOf(mime);
  const base = baseNameOf(image);
  const plain = base.replaceAll(/[^\x20-\x7e]|[%"\\]/g, "_");
  const full = encodeURIComponent(`${base}.${extension}`).replaceAll(/['()*]/g, percentEncode);
  return `${type}; filename="${plain}.${extension}"; filename*=UTF-8''${full}`;
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

type Reading = Pick<Services, "disk" | "log">;

/**
 * Copies the stored original to a local file for an engine or a provider; what its alpha hides stays behind. Throws
 * `input_missing` when the object is gone or cut, `upload_unreadable` when it has transparency and is damaged, `out_of_memory`,
 * `storage_unavailable`. Aborting rejects at once with the signal's reason: a store may be silent for minutes.
 */
export async function readOriginalTo(
  services: Reading,
  image: StoredOriginal,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  const opening = openOriginal(services, image);
  const source = await orAborted(opening, signal).catch((error: unknown) => {
    void opening.then(
      (late) => late.destroy(),
      () => undefined,
    );
    throw error;
  });
  try {
    await pipeline(source, createWriteStream(path), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw storageFailure(error);
  }
  await whitenHiddenIn(path);
}

/** A stream of the stored original. Throws `input_missing` when the object is gone or damaged, `storage_unavailable`. */
export async function openOriginal({ disk, log }: Reading, image: StoredOriginal): Promise<Readable> {
  const key = objectKey(image, "original");
  const found = await openObject(disk, key);
  try {
    return wholeOf(log, { key, image, found }).stream;
  } catch (error) {
    found?.stream.destroy();
    throw error;
  }
}

/** Throws `input_missing` when the stored original is gone or has another length than its row; `storage_unavailable` when the disk cannot be read. */
export async function requireOriginal({ disk, log }: Reading, image: StoredOriginal): Promise<void> {
  const key = objectKey(image, "original");
  wholeOf(log, { key, image, found: await findObject(disk, key) });
}

interface FoundOriginal<Found> {
  readonly key: string;
  readonly image: StoredOriginal;
  readonly found: Found | null;
}

/** The object when it is there and has the length of its row; else throws `input_missing`. */
function wholeOf<Found extends { readonly sizeBytes: number }>(
  log: Services["log"],
  { key, image, found }: FoundOriginal<Found>,
): Found {
  if (!found) throw new AppError("input_missing");
  if (found.sizeBytes === image.sizeBytes) return found;
  const sizes = { sizeBytes: found.sizeBytes, expectedBytes: image.sizeBytes };
  log.error({ key, ...sizes }, "the file of a picture is damaged");
  throw new AppError("input_missing", "The file of a picture that the job needs is damaged.");
}

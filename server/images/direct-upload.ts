import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { and, count, eq, isNull, or, sql } from "drizzle-orm";
import { z } from "zod";
import { ago, type Db, schema, type Tx } from "../db/index.ts";
import {
  AppError,
  isAppError,
  isId,
  isOutOfSpace,
  newId,
  pictureLimits,
  ruleOf,
  oneAtATime,
} from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  openObject,
  putAll,
  type Room,
  type SignedPut,
  signedPutMs,
  storageFailure,
  withRoom,
  withTempFolder,
} from "../storage/index.ts";
import { withFilePermit } from "./files.ts";
import { unsupportedAs } from "./formats/simple.ts";
import { findOwnImage, type IngestedImage, type IngestInput, toUntagged } from "./image.ts";
import { findSameBytes, ingest } from "./ingest.ts";
import { maxBytesOf } from "./inspect.ts";
import { discardObjects } from "./outputs.ts";
import { checkQuota, lockUploadsOf, uploadKeyOf } from "./quota.ts";
import { isLost } from "./serve.ts";

const { directUploads } = schema;

export const scaleDownSchema = z
  .boolean()
  .optional()
  .describe(
    `Scales a picture of up to ${pictureLimits.scalableMegapixels} megapixels (file: ${pictureLimits.scalableMib} MB) down to ${pictureLimits.uploadMegapixels} megapixels instead of refusing it`,
  );

/** What a client says about a file before it sends it. */
export const announcedSchema = z.object({
  name: z.string().max(300).default("").describe("Of the file; becomes the title of the picture"),
  mime: z
    .string()
    .regex(/^[\w.+-]{1,60}\/[\w.+-]{1,60}$/)
    .default("application/octet-stream")
    .describe("As you know it; the content alone decides what is taken"),
  scaleDown: scaleDownSchema,
  sizeBytes: z
    .int()
    .min(0)
    .meta({ minimum: 1, maximum: pictureLimits.scalableMib * 1024 ** 2 }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe("Of the file, in lower-case hex: a file that you sent before is not sent again"),
  unchecked: z
    .boolean()
    .optional()
    .describe("For a store that refuses checksums: the studio alone compares the file with its `sha256`"),
  role: z.enum(["upload", "mask"]).default("upload"),
});

type Announced = z.output<typeof announcedSchema>;

/** Begun and unfinished uploads of one owner. */
const maxOpen = 100;

/** Either the picture that these bytes became before, or where to send them; `put` is null for the studio's own address. */
export type BegunUpload =
  | { readonly known: Omit<IngestedImage, "created" | "notes"> }
  | { readonly id: string; readonly put: SignedPut | null };

type Row = typeof directUploads.$inferSelect;

export function incomingPrefix({ id }: Pick<Row, "id">): string {
  return `incoming/${id}`;
}

export function incomingKey(upload: Pick<Row, "id">): string {
  return `${incomingPrefix(upload)}/file`;
}

/**
 * Begins an upload that goes to the image store itself: the client sends the file by PUT and then finishes it. Throws
 * `upload_too_large`, `quota_exceeded`, `storage_quota`, `rate_limited`.
 */
export async function beginUpload(
  services: Pick<Services, "db" | "disk" | "config" | "log">,
  { ownerId, announced }: { readonly ownerId: string; readonly announced: Announced },
): Promise<BegunUpload> {
  const { db, disk, config } = services;
  const { role, mime, sizeBytes, sha256 = null, name } = announced;
  if (sizeBytes === 0) throw unsupportedAs("empty");
  if (sizeBytes > maxBytesOf(announced)) throw new AppError("upload_too_large");
  const known = sha256 === null ? null : await findSameBytes(db, { ownerId, role, uploadSha256: sha256 });
  if (known && !(await isLost(services, known))) return { known: toUntagged(known, null) };
  const id = newId();
  const sent = { mime, sizeBytes, sha256: announced.unchecked ? null : sha256 };
  const put = await disk.driver.signPut(incomingKey({ id }), sent);
  await oneAtATime(uploadKeyOf(ownerId), () =>
    db.transaction(async (tx) => {
      await lockUploadsOf(tx, ownerId);
      const open = await readOpen(tx, { ownerId, isSigned: put !== null });
      if (!known) await checkQuota(tx, config, { ownerId, role, sizeBytes: sizeBytes + open.sizeBytes });
      if (open.uploads >= maxOpen)
        throw new AppError(
          "rate_limited",
          `You have begun too many uploads. Finish some or give some up, or wait ${signedPutMs / 60_000} minutes.`,
          { details: { retryAfterS: 60 } },
        );
      await tx.insert(directUploads).values({ id, ownerId, role, name, mime, sizeBytes, sha256 });
    }),
  );
  return { id, put };
}

interface Announcer {
  readonly ownerId: string;
  /** Files are sent to the store by signed links, which cannot be called back. */
  readonly isSigned: boolean;
}

/**
 * Uploads of an owner that may still put a file into the store: a signed link works until it expires, also after the end. By
 * then sending must have begun, so that an older one holds no place, but its file may lie there.
 */
async function readOpen(
  db: Db | Tx,
  { ownerId, isSigned }: Announcer,
): Promise<{ uploads: number; sizeBytes: number }> {
  const isYoung = sql`${directUploads.createdAt} > ${ago(signedPutMs)}`;
  const isBegun = and(isNull(directUploads.imageId), isNull(directUploads.givenUpAt));
  const [open] = await db
    .select({
      uploads: count(sql`case when ${isBegun} and ${isYoung} then 1 end`),
      sizeBytes: sql`coalesce(sum(${directUploads.sizeBytes}), 0)`.mapWith(Number),
    })
    .from(directUploads)
    .where(and(eq(directUploads.ownerId, ownerId), isSigned ? or(isBegun, isYoung) : isBegun));
  return open ?? { uploads: 0, sizeBytes: 0 };
}

export interface OwnUpload {
  readonly ownerId: string;
  readonly id: string;
}

/** A begun upload of this owner. Throws `not_found`. */
export async function findOwn({ db }: Pick<Services, "db">, { ownerId, id }: OwnUpload): Promise<Row> {
  if (!isId(id)) throw new AppError("not_found");
  const [row] = await db
    .select()
    .from(directUploads)
    .where(
      and(eq(directUploads.id, id), eq(directUploads.ownerId, ownerId), isNull(directUploads.givenUpAt)),
    );
  if (!row) throw new AppError("not_found");
  return row;
}

/**
 * Stores the file of an upload that is sent to the studio's own address; ends at the first byte more than was announced.
 * Throws `not_found`, `bad_request`, `storage_unavailable`.
 */
export async function receiveUpload(
  services: Pick<Services, "db" | "disk" | "env" | "log" | "config">,
  { body, ...own }: OwnUpload & { readonly body: () => Readable },
): Promise<void> {
  const row = await findOwn(services, own);
  if (row.imageId !== null) throw new AppError("conflict", "This upload is finished.");
  await withRoom(services, row.sizeBytes, (room) =>
    withTempFolder(services.env, async (folder) => {
      const file = path.join(folder, "file");
      await pipeline(body(), limitTo(row.sizeBytes, room), createWriteStream(file));
      if ((await stat(file)).size !== row.sizeBytes) throw notAnnounced();
      await withFilePermit({ ownerId: own.ownerId, weight: "light" }, async () =>
        putAll(services.disk, [{ key: incomingKey(row), bytes: await readFile(file), mime: row.mime }]),
      );
    }),
  );
  // Given up meanwhile: whoever did so has removed what was there before.
  await findOwn(services, own).catch(async (error: unknown) => {
    await discardObjects(services, [incomingPrefix(row)]);
    throw error;
  });
}

function limitTo(maxBytes: number, room: Room) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    let sizeBytes = 0;
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw notAnnounced();
      await room.noteBytes(chunk.length);
      yield chunk;
    }
  };
}

function notAnnounced(): AppError {
  return new AppError("bad_request", "The file is not the one that was announced.");
}

type FinishOptions = { readonly signal: AbortSignal } & Pick<IngestInput, "scaleDown" | "timezone">;

/**
 * Makes a picture of the file that has arrived. May be repeated: the second call returns the same picture. A file that is
 * refused is removed. Throws the codes of `ingest`, `not_found`, `conflict` while the file is not there, `bad_request` for
 * another file than the announced one.
 */
export async function finishUpload(
  services: Services,
  { signal, scaleDown, timezone, ...own }: OwnUpload & FinishOptions,
): Promise<IngestedImage> {
  const row = await findOwn(services, own);
  if (row.imageId !== null) return finishedImage(services, row.ownerId, row.imageId);
  try {
    const image = await withTempFolder(services.env, async (folder) => {
      const file = path.join(folder, "file");
      await fetchTo(services, { row, file, signal });
      const { ownerId, role, name } = row;
      return ingest(services, { ownerId, role, name, bytes: file, signal, scaleDown, timezone });
    });
    await services.db.update(directUploads).set({ imageId: image.id }).where(eq(directUploads.id, row.id));
    await discardObjects(services, [incomingPrefix(row)]);
    return image;
  } catch (error) {
    // Another call may have finished it meanwhile and removed the file.
    const { imageId } = await findOwn(services, own);
    if (imageId !== null) return finishedImage(services, row.ownerId, imageId);
    // The row stays: until it expires, its link may put the file there again.
    if (isFinal(error)) await discardObjects(services, [incomingPrefix(row)]);
    throw error;
  }
}

async function finishedImage(
  { db }: Pick<Services, "db">,
  ownerId: string,
  id: string,
): Promise<IngestedImage> {
  const { image, kind } = await findOwnImage(db, { ownerId, id });
  return { ...toUntagged(image, kind), created: false, notes: [] };
}

/** Whether another try with the same file would fail again. */
function isFinal(error: unknown): boolean {
  return isAppError(error) && error.code !== "conflict" && ruleOf(error.code).httpStatus < 500;
}

/** Copies the file that has arrived to a local one and compares it with what was announced. */
async function fetchTo(
  services: Pick<Services, "disk">,
  { row, file, signal }: { readonly row: Row; readonly file: string; readonly signal: AbortSignal },
): Promise<void> {
  const found = await openObject(services.disk, incomingKey(row));
  if (!found) throw new AppError("conflict", "The file has not arrived yet.");
  if (found.sizeBytes !== row.sizeBytes) {
    found.stream.destroy();
    throw notAnnounced();
  }
  const hash = createHash("sha256");
  try {
    await pipeline(
      found.stream,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(file),
      { signal },
    );
  } catch (error) {
    // A full disk here is no fault of the store.
    throw signal.aborted || isOutOfSpace(error) ? error : storageFailure(error);
  }
  if (row.sha256 !== null && hash.digest("hex") !== row.sha256) throw notAnnounced();
}

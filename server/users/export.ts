import { AsyncResource } from "node:async_hooks";
import { Readable } from "node:stream";
import { sql } from "drizzle-orm";
import { userTables } from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import {
  extensionOf,
  type ImageView,
  openOriginal,
  type OwnedImage,
  readAllImages,
} from "../images/index.ts";
import { list, packZip, type ZipEntry } from "../jobs/index.ts";
import { AppError, type Holder, isAppError, normalized, takePlace } from "../platform/index.ts";
import type { Services } from "../services.ts";

interface ExportInput extends Holder {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** Whether the key or session that asked is still one; asked every few seconds. */
  readonly isAllowed: () => Promise<boolean>;
}

/**
 * Everything that the studio holds about a user as a zip, made while it is read: one picture is open at a time, and nothing is
 * kept in memory but the list of files.
 *
 *   account.json    the rows of `userTables`, without hashes and tokens
 *   jobs.json       every job with its settings, the newest first
 *   uploads, results, masks      the originals, as <day>_<title>_<id>
 *   pictures.json   every picture with its file; null for a file that is gone
 *
 * Throws `rate_limited` while another export of the user runs.
 */
export async function openExport(services: Services, input: ExportInput): Promise<Readable> {
  const { userId, signal } = input;
  const stopping = new AbortController();
  const hold = await holdExport(services, input, (reason) => stopping.abort(reason));
  try {
    await recordAct(services.db, { kind: "account.exported", by: userId });
  } catch (error) {
    await hold.release();
    throw error;
  }
  const output = packZip(entriesOf(services, userId, hold.note), { mode: 0o100_600 });
  const noteFault = (err: Error) => services.log.error({ err, userId }, "export broke off");
  output.on("error", noteFault);
  const ended = AbortSignal.any([signal, stopping.signal]);
  const end = () => {
    output.off("error", noteFault);
    const reason: unknown = stopping.signal.reason;
    output.destroy(reason instanceof Error ? reason : undefined);
  };
  // Bound to the request: the stream is closed by calls from elsewhere, and `later` asks the platform of the request.
  const release = AsyncResource.bind(() => services.later(hold.release()));
  ended.addEventListener("abort", end, { once: true });
  output.once("close", () => {
    ended.removeEventListener("abort", end);
    release();
  });
  if (ended.aborted) end();
  return output;
}

/** The reader takes so many bytes. */
type Note = (sizeBytes: number) => void;

async function* entriesOf(services: Services, userId: string, note: Note): AsyncGenerator<ZipEntry> {
  const textEntry = (name: string, text: AsyncIterable<string>): ZipEntry => ({
    name,
    isText: true,
    open: async () => Readable.from(noted(text, note), { objectMode: false }),
  });
  yield textEntry("account.json", accountText(services, userId));
  yield textEntry("jobs.json", inList(readJobs(services, userId)));
  const missing = new Set<string>();
  for await (const image of readAllImages(services, userId)) {
    const { view } = image;
    yield {
      name: fileOf(view),
      at: new Date(view.createdAt),
      async open() {
        const source = await openKept(services, image);
        if (!source) {
          missing.add(view.id);
          return null;
        }
        const body = Readable.from(noted(source, note), { objectMode: false });
        return body.once("close", () => source.destroy());
      },
    };
  }
  yield textEntry("pictures.json", inList(readPictures(services, userId, missing)));
}

async function* noted(source: AsyncIterable<unknown>, note: Note): AsyncGenerator<unknown> {
  for await (const piece of source) {
    note(typeof piece === "string" || Buffer.isBuffer(piece) ? piece.length : 0);
    yield piece;
  }
}

/** Null when the file is gone or damaged, which must not keep the other pictures from their owner. */
async function openKept(services: Services, image: OwnedImage): Promise<Readable | null> {
  return openOriginal(services, image).catch((error: unknown) => {
    if (isAppError(error) && error.code === "input_missing") return null;
    throw error;
  });
}

const folders = { upload: "uploads", result: "results", mask: "masks" } as const;
const titleCharacters = 40;

/** Of letters and digits of any script and a few signs, so that every system can store it; the id keeps two titles apart. */
function fileOf({ id, role, title, mime, createdAt }: ImageView): string {
  const plain = normalized(title, "NFC").replaceAll(/[^\p{L}\p{M}\p{N} -]/gu, "_");
  const short = Array.from(plain).slice(0, titleCharacters).join("").trim();
  const name = [createdAt.slice(0, 10), short, id].filter((part) => part !== "").join("_");
  return `${folders[role]}/${name}.${extensionOf(mime)}`;
}

async function* readPictures(services: Services, userId: string, missing: ReadonlySet<string>) {
  for await (const { view } of readAllImages(services, userId))
    yield { ...view, file: missing.has(view.id) ? null : fileOf(view) };
}

async function* readJobs(services: Services, ownerId: string) {
  for (let cursor: string | undefined; ;) {
    const page = await list(services, { ownerId, limit: 100, cursor });
    yield* page.items;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

const rowsPerRead = 1_000;

/** What acts of an admin name and were given is of other users. */
const ofAdmins = (table: string) =>
  table === "audit_entries"
    ? sql`(case when t.kind like 'admin.%' then '{object_id,details}' else '{}' end)::text[]`
    : sql`'{}'::text[]`;

async function* readRows({ db }: Services, table: string, userId: string) {
  const { column, secrets = [] } = userTables[table] ?? { column: "id" };
  const without = sql`${`{${secrets.join(",")}}`}::text[]`;
  for (let from = 0; ; from += rowsPerRead) {
    const rows = await db.execute<{ facts: unknown }>(sql`
      select to_jsonb(t) - ${without} - ${ofAdmins(table)} as facts from ${sql.identifier(table)} t
      where t.${sql.identifier(column)} = ${userId} order by 1 limit ${rowsPerRead} offset ${from}`);
    for (const { facts } of rows) yield facts;
    if (rows.length < rowsPerRead) return;
  }
}

/** An object with one list for each table. */
async function* accountText(services: Services, userId: string): AsyncGenerator<string> {
  const tables = Object.keys(userTables).filter((table) => userTables[table]?.inExport === "rows");
  for (const [at, table] of tables.entries()) {
    yield `${at === 0 ? "{" : ","}\n${JSON.stringify(table)}: `;
    yield* inList(readRows(services, table, userId));
  }
  yield "}\n";
}

async function* inList(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const item of items) {
    yield `${isFirst ? "[" : ","}\n${JSON.stringify(item, null, 2)}`;
    isFirst = false;
  }
  yield isFirst ? "[]\n" : "\n]\n";
}

const { users } = schema;

const leaseSeconds = 60;
const renewMs = 5_000;
/**
 * Bounds of a reader: each export keeps a picture open and reads pages of the database, and there are few in a process. One
 * who takes less than the rate over a window has left, or keeps the place from others, as one does who reads all day.
 */
export const exportBounds = {
  windowMs: 5 * 60_000,
  minBytesPerSecond: 8_192,
  totalMs: 12 * 3_600_000,
} as const;

interface ExportHold {
  readonly note: Note;
  /** Ends the export, so that the user may begin another. Never throws. */
  release(): Promise<void>;
}

/**
 * Reserves the one export that a user may have in the whole studio. The row says so for a minute and is renewed, so that a
 * killed process blocks nobody for long. `stop` is called when the user was suspended or deleted, when the key or session
 * ended, and when the reader stalls. Throws `rate_limited`.
 */
async function holdExport(
  services: Services,
  { userId, isAllowed, ...holder }: ExportInput,
  stop: (reason: Error) => void,
): Promise<ExportHold> {
  const giveBack = takePlace(services, "export", { ...holder, userId });
  try {
    const isFree = sql`(export_until is null or export_until < now())`;
    if (!(await extend(services, userId, isFree)))
      throw new AppError("rate_limited", "Another export of your data is running. Wait until it has ended.");
  } catch (error) {
    giveBack();
    throw error;
  }
  const pace = watchPace(performance.now());
  const renew = async () => {
    const slow = pace.reasonToEnd(performance.now());
    if (slow !== null) stop(new Error(slow));
    else if (!(await isAllowed()) || !(await extend(services, userId, sql`true`)))
      stop(new Error("the user may not use the studio any more"));
  };
  const timer = setInterval(() => {
    // Without the database the next page cannot be read, and the export breaks off by itself.
    renew().catch((err: unknown) => services.log.warn({ err, userId }, "export not renewed"));
  }, renewMs);
  timer.unref();
  return {
    note: (sizeBytes) => pace.note(sizeBytes),
    async release() {
      clearInterval(timer);
      giveBack();
      await services.db
        .execute(sql`update ${users} set export_until = null where id = ${userId}`)
        .catch((err: unknown) => services.log.warn({ err, userId }, "end of an export not noted"));
    },
  };
}

/** Judges by what a reader takes whether it will get to the end. Times are those of `performance.now()`. */
export function watchPace(startedAtMs: number) {
  let window = { fromMs: startedAtMs, sizeBytes: 0 };
  return {
    note(sizeBytes: number): void {
      window.sizeBytes += sizeBytes;
    },
    /** Null while the reader may go on. */
    reasonToEnd(nowMs: number): string | null {
      if (nowMs - startedAtMs > exportBounds.totalMs) return "the export took too long";
      if (nowMs - window.fromMs < exportBounds.windowMs) return null;
      const bytesPerSecond = (window.sizeBytes * 1_000) / (nowMs - window.fromMs);
      window = { fromMs: nowMs, sizeBytes: 0 };
      return bytesPerSecond < exportBounds.minBytesPerSecond ? "the export was read too slowly" : null;
    },
  };
}

/** False for a user who may not use the studio, and when `condition` is false. */
async function extend({ db }: Services, userId: string, condition: ReturnType<typeof sql>): Promise<boolean> {
  const rows = await db.execute(sql`
    update ${users} set export_until = now() + ${leaseSeconds} * interval '1 second'
    where id = ${userId} and banned is not true and ${condition} returning id`);
  return rows.length > 0;
}

import { createWriteStream, type WriteStream } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { uploadLimits } from "../../images/index.ts";
import {
  AppError,
  type Holder,
  problemOfField,
  requireReadable,
  takePlace,
  toUploadError,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { type Room, withRoom, withTempFolder } from "../../storage/index.ts";

export interface ReceivedFile {
  /** Name of its part. */
  readonly part: string;
  readonly path: string;
  /** As sent, empty where the part names none; not to be trusted. */
  readonly name: string;
}

export interface ReceivedParts {
  readonly files: readonly ReceivedFile[];
  readonly fields: ReadonlyMap<string, string>;
}

/** What a multipart body may hold. */
export interface MultipartRules {
  /** Names of the parts with files, and how many files each may have. */
  readonly files: Readonly<Record<string, number>>;
  /** What a part is called there, where programs spell its name in several ways. */
  readonly nameOf?: (part: string) => string;
  readonly fields: number;
  readonly fieldBytes: number;
}

const headBytes = 16_384;

const countFiles = ({ files }: MultipartRules) => Object.values(files).reduce((sum, count) => sum + count, 0);

/** All files and fields of a request and the lines between them. */
function maxBodyBytes(rules: MultipartRules): number {
  const { fields, fieldBytes } = rules;
  return countFiles(rules) * (uploadLimits.sizeBytes + headBytes) + fields * (fieldBytes + headBytes);
}

interface Receiving {
  readonly request: Request;
  readonly rules: MultipartRules;
}

/**
 * The parts of a multipart body, whose files exist until `work` is done, in a place of the caller. Throws `rate_limited`,
 * `storage_full` and what receiving them throws.
 */
export async function withParts<T>(
  services: Services,
  { caller, ...receiving }: Receiving & { readonly caller: Holder },
  work: (parts: ReceivedParts) => Promise<T>,
): Promise<T> {
  const bytes = lengthOf(receiving);
  const giveBack = takePlace(services, "upload", caller);
  try {
    return await withRoom(services, bytes, (room) =>
      withTempFolder(services.env, async (folder) =>
        work(await receiveMultipart(receiving, { folder, room })),
      ),
    );
  } catch (cause) {
    throw toUploadError(cause);
  } finally {
    giveBack();
  }
}

/** As it is announced, else as of one file: free space is looked at again while more comes in. Throws `upload_too_large`. */
function lengthOf({ request, rules }: Receiving): number {
  const announced = request.headers.get("content-length");
  const most = maxBodyBytes(rules);
  const bytes = announced === null ? Number.NaN : Number(announced);
  if (bytes > most) throw new AppError("upload_too_large");
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : Math.min(most, uploadLimits.sizeBytes);
}

/** Where the files of a body are written. */
interface Target {
  readonly folder: string;
  readonly room: Room;
}

/**
 * Streams a multipart body into files below `folder`, which the caller removes. Ends at the first file that is too
 * large and at the first file too many, without reading on. Throws `upload_too_large`, `upload_too_many`, `bad_request`, `storage_full`.
 */
async function receiveMultipart({ request, rules }: Receiving, target: Target): Promise<ReceivedParts> {
  const parser = openParser(request, rules);
  const source = bodyOf(request);
  const parts = collectParts(parser, target, rules);
  source.on("error", parts.fail);
  source.pipe(parser);
  try {
    await parts.parsed;
    requireReadable([...parts.fields]);
    const files = await Promise.all(parts.writes);
    return { files: files.filter((file) => file !== null), fields: parts.fields };
  } finally {
    source.unpipe(parser);
    source.destroy();
    // With an error: a pipeline whose target is still being opened would otherwise never settle.
    for (const stream of parts.streams) stream.destroy(new AppError("bad_request"));
    // The folder can only be removed when nothing writes into it any more.
    await Promise.allSettled(parts.writes);
  }
}

function openParser(request: Request, rules: MultipartRules): BusboyInstance {
  const contentType = request.headers.get("content-type") ?? "";
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      isPartAFile: (part, type, name) => isFile({ part: nameIn(rules, part ?? ""), type, name }, rules),
      limits: {
        fileSize: uploadLimits.sizeBytes,
        files: countFiles(rules),
        fields: rules.fields,
        fieldSize: rules.fieldBytes,
        headerPairs: 32,
        headerSize: headBytes,
      },
    });
  } catch (cause) {
    throw new AppError("bad_request", "Send the files as multipart/form-data.", { cause });
  }
}

interface PartHead {
  readonly part: string;
  readonly type: string | undefined;
  readonly name: string | undefined;
}

/** Programs that hold a picture in memory leave out the name of its file, and some its type as well. */
function isFile({ part, type, name }: PartHead, { files }: MultipartRules): boolean {
  return (
    name !== undefined ||
    /^(?:image\/|application\/octet-stream)/i.test(type ?? "") ||
    Object.hasOwn(files, part)
  );
}

const nameIn = ({ nameOf }: MultipartRules, part: string): string => nameOf?.(part) ?? part;

/** The body of a request as a stream of Node; fails when the client leaves. Throws `bad_request` without a body. */
export function bodyOf(request: Request): Readable {
  if (!request.body) throw new AppError("bad_request", "The request has no body.");
  // The DOM's and Node's types of the same stream differ in name only.
  return Readable.fromWeb(request.body as ReadableStream<Uint8Array>, { signal: request.signal });
}

async function* counted(chunks: AsyncIterable<Buffer>, room: Room) {
  for await (const chunk of chunks) {
    await room.noteBytes(chunk.length);
    yield chunk;
  }
}

function collectParts(parser: BusboyInstance, { folder, room }: Target, rules: MultipartRules) {
  const fields = new Map<string, string>();
  const streams: Readable[] = [];
  const writes: Promise<ReceivedFile | null>[] = [];
  const counts = new Map<string, number>();
  const { promise: parsed, resolve, reject } = Promise.withResolvers<void>();
  parser.on("file", (given, stream, name) => {
    const part = nameIn(rules, given);
    const count = (counts.get(part) ?? 0) + 1;
    counts.set(part, count);
    const problem = problemOf(part, count, rules);
    if (problem) reject(problem);
    stream.on("limit", () => reject(new AppError("upload_too_large", undefined, { details: { name } })));
    const file = { part, path: path.join(folder, String(writes.length)), name: plainName(name) };
    const target = createWriteStream(file.path);
    const write = pipeline(stream, (chunks: AsyncIterable<Buffer>) => counted(chunks, room), target).then(
      () => (isNothing(file, target) ? null : file),
    );
    write.catch(reject);
    streams.push(stream);
    writes.push(write);
  });
  parser.on("field", (field, value) => {
    const problem = problemOfField(field, value);
    if (problem) reject(problem);
    fields.set(field, value);
  });
  parser.on("filesLimit", () => reject(new AppError("upload_too_many")));
  parser.on("error", (cause) =>
    reject(new AppError("bad_request", "The multipart body is broken.", { cause })),
  );
  parser.on("finish", resolve);
  const fail = (cause: unknown) =>
    reject(new AppError("bad_request", "The upload was broken off.", { cause }));
  return { fields, streams, writes, parsed, fail };
}

/** Forms write a quote in the name of a file as its code, and leave a percent sign as it is. */
const plainName = (name = "") => name.replaceAll("%22", '"');

/** What a form sends for a choice of files in which nothing was chosen. */
const isNothing = ({ name }: ReceivedFile, { bytesWritten }: WriteStream) =>
  name === "" && bytesWritten === 0;

function problemOf(part: string, count: number, { files }: MultipartRules): AppError | null {
  const allowed = Object.hasOwn(files, part) ? files[part] : undefined;
  if (allowed === undefined) {
    const names = Object.keys(files).map((name) => `\`${name}\``);
    return new AppError("bad_request", `Files are sent in parts named ${names.join(", ")}.`);
  }
  return count > allowed
    ? new AppError("upload_too_many", `At most ${allowed} in parts named \`${part}\`.`)
    : null;
}

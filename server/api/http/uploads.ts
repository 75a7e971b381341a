import { createWriteStream } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { uploadLimits } from "../../images/index.ts";
import { AppError } from "../../platform/index.ts";

interface ReceivedFile {
  readonly path: string;
  /** As sent; not to be trusted. */
  readonly name: string;
}

export interface ReceivedUpload {
  readonly files: readonly ReceivedFile[];
  readonly fields: ReadonlyMap<string, string>;
}

/** All files of a request and the lines between them. */
const maxBodyBytes = uploadLimits.files * (uploadLimits.sizeBytes + 16_384);

/**
 * Streams a multipart body into files below `folder`, which the caller removes. Ends at the first file that is too
 * large and at the first file too many, without reading on. Throws `upload_too_large`, `upload_too_many`, `bad_request`.
 */
export async function receiveUpload(request: Request, folder: string): Promise<ReceivedUpload> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBodyBytes)
    throw new AppError("upload_too_large");
  const parser = openParser(request);
  const source = bodyOf(request);
  const parts = collectParts(parser, folder);
  source.on("error", parts.fail);
  source.pipe(parser);
  try {
    await parts.parsed;
    return { files: await Promise.all(parts.writes), fields: parts.fields };
  } finally {
    source.unpipe(parser);
    source.destroy();
    // With an error: a pipeline whose target is still being opened would otherwise never settle.
    for (const stream of parts.streams) stream.destroy(new AppError("bad_request"));
    // The folder can only be removed when nothing writes into it any more.
    await Promise.allSettled(parts.writes);
  }
}

function openParser(request: Request): BusboyInstance {
  const contentType = request.headers.get("content-type") ?? "";
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      limits: {
        fileSize: uploadLimits.sizeBytes,
        files: uploadLimits.files,
        fields: 8,
        fieldSize: 1_024,
        headerPairs: 32,
        headerSize: 16_384,
      },
    });
  } catch (cause) {
    throw new AppError("bad_request", "Send the files as multipart/form-data.", { cause });
  }
}

function bodyOf(request: Request): Readable {
  if (!request.body) throw new AppError("bad_request", "The request has no body.");
  // The DOM's and Node's types of the same stream differ in name only.
  return Readable.fromWeb(request.body as ReadableStream<Uint8Array>, { signal: request.signal });
}

function collectParts(parser: BusboyInstance, folder: string) {
  const fields = new Map<string, string>();
  const streams: Readable[] = [];
  const writes: Promise<ReceivedFile>[] = [];
  const { promise: parsed, resolve, reject } = Promise.withResolvers<void>();
  parser.on("file", (field, stream, name) => {
    if (field !== "file") reject(new AppError("bad_request", "Files are sent in parts named `file`."));
    stream.on("limit", () => reject(new AppError("upload_too_large", undefined, { details: { name } })));
    const file = { path: path.join(folder, String(writes.length)), name: name ?? "" };
    const write = pipeline(stream, createWriteStream(file.path)).then(() => file);
    write.catch(reject);
    streams.push(stream);
    writes.push(write);
  });
  parser.on("field", (field, value) => fields.set(field, value));
  parser.on("filesLimit", () => reject(new AppError("upload_too_many")));
  parser.on("error", (cause) =>
    reject(new AppError("bad_request", "The multipart body is broken.", { cause })),
  );
  parser.on("finish", resolve);
  const fail = (cause: unknown) =>
    reject(new AppError("bad_request", "The upload was broken off.", { cause }));
  return { fields, streams, writes, parsed, fail };
}

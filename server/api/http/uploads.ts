import { createWriteStream } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { z } from "zod";
import { ingest, type IngestedImage, purgeImages, uploadLimits } from "../../images/index.ts";
import { AppError, isOutOfSpace, pictureLimits } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { requireFreeSpace, withTempFolder } from "../../storage/index.ts";
import { defineRoute } from "./route.ts";

export const uploadedSchema = z.object({
  id: z.uuid(),
  width: z.int().describe("Pixels, upright"),
  height: z.int().describe("Pixels, upright"),
});

/** The examples that the viewer makes itself send the name of a file instead of the file. */
const samples = (address: string) => [
  {
    lang: "Shell",
    label: "curl with a file",
    source: `curl ${address} \\
  --header 'Authorization: Bearer YOUR_API_KEY' \\
  --form file=@photo.jpg`,
  },
  {
    lang: "JavaScript",
    label: "fetch with a file",
    source: `const body = new FormData();
body.append("file", photo, "photo.jpg"); // A Blob or File.
const answer = await fetch("${address}", {
  method: "POST",
  headers: { Authorization: "Bearer YOUR_API_KEY" },
  body,
});
console.log(await answer.json());`,
  },
  {
    lang: "Python",
    label: "requests with a file",
    source: `import requests

with open("photo.jpg", "rb") as photo:
    answer = requests.post(
        "${address}",
        headers={"Authorization": "Bearer YOUR_API_KEY"},
        files={"file": photo},
    )
print(answer.json())`,
  },
];

const roleSchema = z.enum(["upload", "mask"]).default("upload");

/** POST /uploads: all files of the request are stored, or none. */
export const createUpload = defineRoute({
  method: "post",
  path: "/uploads",
  operationId: "createUpload",
  summary: "Upload pictures",
  description: `JPEG, PNG, WebP or AVIF in parts named \`file\`: at most ${uploadLimits.files}, each at most
${pictureLimits.uploadMib} MB and ${pictureLimits.uploadMegapixels} megapixels, no side longer than ${pictureLimits.uploadSidePx} pixels and, above
${pictureLimits.uploadRatioFreeMegapixels} megapixel, than ${pictureLimits.uploadRatio} times the other side. All are stored or none. The same bytes are stored once. With \`role=mask\` the picture is stored as a mask (white
= change; an area counts from grey value 128 on).`,
  tag: "images",
  multipart: {
    type: "object",
    required: ["file"],
    properties: {
      file: {
        type: "array",
        maxItems: uploadLimits.files,
        items: { type: "string", format: "binary", contentMediaType: "application/octet-stream" },
      },
      role: { type: "string", enum: ["upload", "mask"], default: "upload" },
    },
  },
  samples,
  responses: {
    201: {
      description: "Stored: one object for one file, `uploads` for several",
      schema: z.union([uploadedSchema, z.object({ uploads: z.array(uploadedSchema) })]),
    },
  },
  handle: async ({ services, caller, request }) => {
    await requireFreeSpace(services);
    const { signal } = request;
    const images = await withTempFolder(services.env, async (folder) => {
      const received = await receiveUpload(request, folder);
      return ingestAll(services, { received, signal, ownerId: caller.userId });
    }).catch((cause: unknown) => {
      throw isOutOfSpace(cause) ? new AppError("storage_full", undefined, { cause }) : cause;
    });
    const uploads = images.map(({ id, widthPx, heightPx }) => ({ id, width: widthPx, height: heightPx }));
    return Response.json(uploads.length === 1 ? uploads[0] : { uploads }, { status: 201 });
  },
});

interface IngestAllInput {
  readonly ownerId: string;
  readonly received: ReceivedUpload;
  readonly signal: AbortSignal;
}

async function ingestAll(services: Services, input: IngestAllInput): Promise<IngestedImage[]> {
  const { ownerId, received, signal } = input;
  const role = roleOf(received);
  const images: IngestedImage[] = [];
  try {
    for (const file of received.files) {
      images.push(await ingest(services, { ownerId, role, bytes: file.path, name: file.name, signal }));
    }
    signal.throwIfAborted();
    return images;
  } catch (error) {
    const created = images.filter((image) => image.created).map((image) => image.id);
    await purgeImages(services, created);
    throw error;
  }
}

function roleOf({ files, fields }: ReceivedUpload): "upload" | "mask" {
  if (files.length === 0) throw new AppError("bad_request", "Send at least one part named `file`.");
  const role = roleSchema.safeParse(fields.get("role"));
  if (!role.success) throw new AppError("bad_request", "`role` is `upload` or `mask`.");
  return role.data;
}

interface ReceivedFile {
  readonly path: string;
  /** As sent; not to be trusted. */
  readonly name: string;
}

interface ReceivedUpload {
  readonly files: readonly ReceivedFile[];
  readonly fields: ReadonlyMap<string, string>;
}

/** All files of a request and the lines between them. */
const maxBodyBytes = uploadLimits.files * (uploadLimits.sizeBytes + 16_384);

/**
 * Streams a multipart body into files below `folder`, which the caller removes. Ends at the first file that is too
 * large and at the first file too many, without reading on. Throws `upload_too_large`, `upload_too_many`, `bad_request`.
 */
async function receiveUpload(request: Request, folder: string): Promise<ReceivedUpload> {
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

/** The body of a request as a stream of Node; fails when the client leaves. Throws `bad_request` without a body. */
export function bodyOf(request: Request): Readable {
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

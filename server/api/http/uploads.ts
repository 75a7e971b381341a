import { z } from "zod";
import { ingest, type IngestedImage, purgeImages, uploadLimits, uploadNotes } from "../../images/index.ts";
import { AppError, flagOfText, pictureLimits } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { type ReceivedParts, withParts } from "./multipart.ts";
import { defineRoute } from "./route.ts";

export const uploadedSchema = z.object({
  id: z.uuid(),
  width: z.int().describe("Pixels, upright"),
  height: z.int().describe("Pixels, upright"),
  notes: z
    .array(z.enum(uploadNotes))
    .optional()
    .describe(
      "What is not kept of the file: of several pictures the first was taken (`first_picture`), rows at the end of a cut file are missing and grey (`end_missing`), a very large picture was scaled down (`scaled_down`). Missing when all was kept.",
    ),
});

/** A stored picture in the answer to its upload. */
export function toUploaded({ id, widthPx, heightPx, notes = [] }: Uploaded): z.input<typeof uploadedSchema> {
  return { id, width: widthPx, height: heightPx, ...(notes.length > 0 && { notes: [...notes] }) };
}

type Uploaded = Pick<IngestedImage, "id" | "widthPx" | "heightPx"> & Partial<Pick<IngestedImage, "notes">>;

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

/** A name that is none here counts for nothing: a browser may know newer ones. */
export const zoneSchema = z
  .string()
  .max(64)
  .optional()
  .describe(
    "Of the camera's times that name no offset from UTC: the IANA name, by default that of the server",
  );

const rules = { files: { file: uploadLimits.files }, fields: 8, fieldBytes: 1_024 };
const roleSchema = z.enum(["upload", "mask"]).default("upload");
const flagSchema = flagOfText.default(false);

/** POST /uploads: all files of the request are stored, or none. */
export const createUpload = defineRoute({
  method: "post",
  path: "/uploads",
  operationId: "createUpload",
  summary: "Upload pictures",
  description: `JPEG, PNG, WebP, AVIF, HEIC, GIF or TIFF (whatever its name) in parts named \`file\`: at most ${uploadLimits.files}, each at most
${pictureLimits.uploadMib} MB and ${pictureLimits.uploadMegapixels} megapixels, no side longer than ${pictureLimits.uploadSidePx} pixels and, above
${pictureLimits.uploadRatioFreeMegapixels} megapixel, than ${pictureLimits.uploadRatio} times the other side. All are stored or none. The same bytes are stored once; \`HEAD /api/v1/images/by-hash/{sha256}\` tells whether they are. With \`role=mask\` the picture is stored as a mask (white
= change; an area counts from grey value 128 on). With \`scaleDown=true\` a picture of up to ${pictureLimits.scalableMegapixels} megapixels is scaled down to
${pictureLimits.uploadMegapixels} instead of being refused. Only pixels are kept, in sRGB and upright: no metadata, no further pictures or films of the file.
A photo whose file says when it was taken stands there in the gallery (\`createdAt\`); \`timezone\` (an IANA name, by default that of the server) is that of cameras that name no offset from UTC.`,
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
      scaleDown: { type: "boolean", default: false },
      timezone: { type: "string", maxLength: 64 },
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
    const { signal } = request;
    const images = await withParts(services, { request, caller, rules }, (received) =>
      ingestAll(services, { received, signal, ownerId: caller.userId }),
    );
    const uploads = images.map(toUploaded);
    return Response.json(uploads.length === 1 ? uploads[0] : { uploads }, { status: 201 });
  },
});

interface IngestAllInput {
  readonly ownerId: string;
  readonly received: ReceivedParts;
  readonly signal: AbortSignal;
}

async function ingestAll(services: Services, input: IngestAllInput): Promise<IngestedImage[]> {
  const { ownerId, received, signal } = input;
  const role = roleOf(received);
  const scaleDown = flagOf(received, "scaleDown");
  const timezone = received.fields.get("timezone");
  const images: IngestedImage[] = [];
  try {
    for (const file of received.files) {
      const { path: bytes, name } = file;
      images.push(await ingest(services, { ownerId, role, bytes, name, signal, scaleDown, timezone }));
    }
    signal.throwIfAborted();
    return images;
  } catch (error) {
    const created = images.filter((image) => image.created).map((image) => image.id);
    await purgeImages(services, created);
    throw error;
  }
}

function roleOf({ files, fields }: ReceivedParts): "upload" | "mask" {
  if (files.length === 0) throw new AppError("bad_request", "Send at least one part named `file`.");
  const role = roleSchema.safeParse(fields.get("role"));
  if (!role.success) throw new AppError("bad_request", "`role` is `upload` or `mask`.");
  return role.data;
}

function flagOf({ fields }: ReceivedParts, name: string): boolean {
  const flag = flagSchema.safeParse(fields.get(name));
  if (!flag.success) throw new AppError("bad_request", `\`${name}\` is yes or no, as \`true\` or \`false\`.`);
  return flag.data;
}

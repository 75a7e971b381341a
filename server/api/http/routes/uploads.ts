import { z } from "zod";
import { ingest, purgeImages, uploadLimits, type IngestedImage } from "../../../images/index.ts";
import { AppError, isOutOfSpace, pictureLimits } from "../../../platform/index.ts";
import type { Services } from "../../../services/index.ts";
import { requireFreeSpace, withTempFolder } from "../../../storage/index.ts";
import { defineRoute } from "../route.ts";
import { receiveUpload, type ReceivedUpload } from "../uploads.ts";

const uploadedSchema = z.object({
  id: z.uuid(),
  width: z.int().describe("Pixels, upright"),
  height: z.int().describe("Pixels, upright"),
});

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
= change).`,
  tag: "images",
  multipart: {
    type: "object",
    required: ["file"],
    properties: {
      file: {
        type: "array",
        maxItems: uploadLimits.files,
        items: { type: "string", contentMediaType: "application/octet-stream" },
      },
      role: { type: "string", enum: ["upload", "mask"], default: "upload" },
    },
  },
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

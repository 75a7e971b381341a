import { z } from "zod";
import {
  announcedSchema,
  beginUpload,
  finishUpload,
  giveUpUpload,
  receiveUpload,
  scaleDownSchema,
} from "../../images/index.ts";
import { AppError, toUploadError, flagOfText } from "../../platform/index.ts";
import { requireFreeSpace, signedPutMs } from "../../storage/index.ts";
import { defineRoute } from "./route.ts";
import { bodyOf } from "./multipart.ts";
import { toUploaded, uploadedSchema, zoneSchema } from "./uploads.ts";

const begunSchema = z.object({
  id: z.uuid(),
  url: z.string().describe("Send the file there by PUT; a path is one of this server and needs your API key"),
  headers: z.record(z.string(), z.string()).describe("Send exactly these with the file"),
  expiresAt: z.iso.datetime().describe("Begin to send before"),
});

/** POST /uploads/direct */
const beginRoute = defineRoute({
  method: "post",
  path: "/uploads/direct",
  operationId: "beginUpload",
  counts: "uploads",
  summary: "Begin a direct upload",
  description: `For large files and many clients: the file goes straight to the image store. Announce it here, send it by PUT to the address of the answer,
then finish the upload. It must be finished within an hour.`,
  tag: "images",
  body: announcedSchema,
  responses: {
    200: { description: "You have this picture already; there is nothing to send", schema: uploadedSchema },
    201: { description: "Where to send the file", schema: begunSchema },
  },
  handle: async ({ services, caller, body }) => {
    await requireFreeSpace(services);
    const begun = await beginUpload(services, { ownerId: caller.userId, announced: body });
    if ("known" in begun) return Response.json(toUploaded(begun.known), { status: 200 });
    const { id, put } = begun;
    const own = { url: `/api/v1/uploads/direct/${id}`, headers: { "content-type": body.mime } };
    const expiresAt = new Date(Date.now() + signedPutMs).toISOString();
    return Response.json({ id, ...(put ?? own), expiresAt }, { status: 201 });
  },
});

const params = z.object({ id: z.uuid() });
const finishQuery = z.object({
  scaleDown: flagOfText.optional().describe(scaleDownSchema.description ?? ""),
  timezone: zoneSchema,
});

/** PUT /uploads/direct/{id} */
const receiveRoute = defineRoute({
  method: "put",
  path: "/uploads/direct/{id}",
  operationId: "sendUpload",
  counts: null,
  summary: "Send the file of a direct upload",
  description: "Only where the answer to the beginning names this address. The body is the file itself.",
  tag: "images",
  resource: "upload",
  params,
  responses: { 204: { description: "Arrived" } },
  handle: async ({ services, caller, params: { id }, request }) => {
    const body = () => bodyOf(request);
    await receiveUpload(services, { ownerId: caller.userId, id, body }).catch((cause: unknown) => {
      if (request.signal.aborted) throw new AppError("bad_request", "The upload was broken off.", { cause });
      throw toUploadError(cause);
    });
    return new Response(null, { status: 204 });
  },
});

/** DELETE /uploads/direct/{id} */
const giveUpRoute = defineRoute({
  method: "delete",
  path: "/uploads/direct/{id}",
  operationId: "giveUpUpload",
  counts: null,
  summary: "Give up a direct upload",
  description:
    "Removes what was sent; the upload counts no more. One that nobody gives up counts for a quarter of an hour.",
  tag: "images",
  resource: "upload",
  params,
  responses: { 204: { description: "Given up" } },
  handle: async ({ services, caller, params: { id } }) => {
    await giveUpUpload(services, { ownerId: caller.userId, id });
    return new Response(null, { status: 204 });
  },
});

/** POST /uploads/direct/{id}/finish */
const finishRoute = defineRoute({
  method: "post",
  path: "/uploads/direct/{id}/finish",
  operationId: "finishUpload",
  counts: null,
  summary: "Finish a direct upload",
  description:
    "Checks the file that has arrived and makes a picture of it. May be repeated: the answer is the same.",
  tag: "images",
  resource: "upload",
  params,
  query: finishQuery,
  responses: { 201: { description: "Stored", schema: uploadedSchema } },
  handle: async ({ services, caller, params: { id }, query, request }) => {
    await requireFreeSpace(services);
    const { signal } = request;
    const image = await finishUpload(services, { ownerId: caller.userId, id, signal, ...query }).catch(
      (cause: unknown) => {
        throw toUploadError(cause);
      },
    );
    return Response.json(toUploaded(image), { status: 201 });
  },
});

export const directUploadRoutes = [beginRoute, receiveRoute, giveUpRoute, finishRoute];

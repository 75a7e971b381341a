import { z } from "zod";
import { jobKinds } from "../../engines.ts";
import {
  changeImage,
  changeImageSchema,
  deleteForGood,
  getImage,
  getImageByHash,
  listImages,
  listImagesSchema,
  listTags,
  removeImages,
  restoreImages,
  type ImageView,
  type TagView,
} from "../../images/index.ts";
import { AppError, flagOfText } from "../../platform/index.ts";
import { withdrawConsent } from "../../wardrobe/index.ts";
import { getImageFileRoute, getImagesZipRoute } from "./image-files.ts";
import { defineRoute } from "./route.ts";

export const imageSchema = z.object({
  id: z.uuid(),
  role: z.enum(["upload", "result", "mask"]),
  mime: z.string(),
  widthPx: z.int(),
  heightPx: z.int(),
  sizeBytes: z.int().describe("Of the original"),
  thumbhash: z.string().describe("Base64"),
  title: z.string(),
  description: z.string().describe("What it shows or was made of, also in several lines; it is searched"),
  starred: z.boolean(),
  rating: z.int().min(0).max(5).describe("0: without a rating"),
  tags: z.array(z.string()).describe("By the alphabet").readonly(),
  stackId: z.uuid().describe("Shared by versions of one picture, and by the results of one batch"),
  toppedAt: z.iso
    .datetime()
    .nullable()
    .describe(
      "Since when it shows its stack by choice: of several the last one does; where all have null, the newest does",
    ),
  jobId: z.uuid().nullable().describe("The job that made it"),
  kind: z.enum(jobKinds).nullable().describe("The kind of that job"),
  isAi: z
    .boolean()
    .describe(
      "An AI had a part in it: every result but an upload that was only adjusted, cropped or restored",
    ),
  createdAt: z.iso
    .datetime()
    .describe(
      "When it was made: of a photo whose file says so when it was taken, by which it is listed and searched",
    ),
  addedAt: z.iso
    .datetime()
    .describe("When it came into the studio; the same as `createdAt` unless that is when it was taken"),
}) satisfies z.ZodType<ImageView>;

const listedImageSchema = imageSchema.extend({
  stackSize: z.int().nullable().describe("Pictures of its stack; null without `stacks`"),
  trashedUntil: z.iso
    .datetime()
    .nullable()
    .describe("When a picture of the trash goes for good; null for others"),
});

const params = z.object({ id: z.uuid() });

/** GET /images */
const listImagesRoute = defineRoute({
  method: "get",
  path: "/images",
  operationId: "listImages",
  summary: "List your pictures, newest first or in another order",
  tag: "images",
  query: listImagesSchema.extend({
    limit: z.coerce.number().int().min(1).max(100).default(50),
    starred: flagOfText.optional(),
    stacks: flagOfText
      .optional()
      .describe("One picture of each stack: of those found the one chosen for it, else the newest"),
    stackId: z.uuid().optional().describe("Only the pictures of this stack"),
    order: listImagesSchema.shape.order.describe(
      "`made`, the newest by `createdAt` first, is the default; `oldest` is its reverse; `added`, by `addedAt`, has what was uploaded last first, also an old photo; `rated` has the best rated first, `largest` the largest files. It goes before `order:` in `search`. `from` and `to` are of `createdAt`",
    ),
  }),
  responses: {
    200: {
      description: "A page; `nextCursor` is null on the last",
      schema: z.object({ items: z.array(listedImageSchema), nextCursor: z.string().nullable() }),
    },
  },
  handle: async ({ services, caller, query }) => {
    const { items, nextCursor } = await listImages(services, { ...query, ownerId: caller.userId });
    return Response.json({ items, nextCursor });
  },
});

/** GET /images/{id} */
const getImageRoute = defineRoute({
  method: "get",
  path: "/images/{id}",
  operationId: "getImage",
  summary: "Get a picture",
  tag: "images",
  resource: "image",
  params,
  responses: { 200: { description: "The picture", schema: imageSchema } },
  handle: async ({ services, caller, params: { id } }) =>
    Response.json(await getImage(services, { id, ownerId: caller.userId })),
});

/** GET and HEAD /images/by-hash/{sha256} */
const getImageByHashRoute = defineRoute({
  method: "get",
  path: "/images/by-hash/{sha256}",
  operationId: "getImageByHash",
  summary: "Find the picture of a file that was uploaded before",
  description:
    "By the SHA-256 of the file's bytes as they were sent. `HEAD` answers the same without a body: 200 with `Location`, the address of the picture, whose last part is its id, or 404. A program that asks first needs not send what the studio has; sent again, the same bytes are the same picture.",
  tag: "images",
  params: z.object({
    sha256: z
      .string()
      .regex(/^[\dA-Fa-f]{64}$/, "is 64 hexadecimal digits")
      .toLowerCase(),
  }),
  query: z.object({ role: z.enum(["upload", "mask"]).default("upload") }),
  responses: { 200: { description: "The picture; `Location` has its address", schema: imageSchema } },
  async handle({ services, caller, params: { sha256 }, query: { role } }) {
    const image = await getImageByHash(services, { ownerId: caller.userId, role, sha256 });
    return Response.json(image, { headers: { location: `/api/v1/images/${image.id}` } });
  },
});

/** PATCH /images/{id} */
const changeImageRoute = defineRoute({
  method: "patch",
  path: "/images/{id}",
  operationId: "changeImage",
  summary: "Change title, description, star, rating, tags, day and the place in its stack of a picture",
  description:
    "What is missing in the body stays as it is. A title is one line of at most 120 characters, a description lines of at most 2,000 in all; what is longer is cut. `tags` are all that the picture has then, at most 30 of at most 40 characters; those that are new are made. `onTop: true` chooses the picture that shows its stack, in place of one chosen before; with `false` the newest does. `createdAt` is where it stands in lists and searches, between 1826 and now; `null` takes back what was given before, so that it stands where it was made or taken.",
  tag: "images",
  resource: "image",
  params,
  body: changeImageSchema,
  responses: { 200: { description: "The picture", schema: imageSchema } },
  handle: async ({ services, caller, params: { id }, body }) =>
    Response.json(await changeImage(services, { ...body, id, ownerId: caller.userId })),
});

const tagSchema = z.object({
  id: z.uuid(),
  name: z.string(),
  pictures: z.int().describe("How many pictures have it"),
}) satisfies z.ZodType<TagView>;

/** GET /tags */
const listTagsRoute = defineRoute({
  method: "get",
  path: "/tags",
  operationId: "listTags",
  summary: "List the tags of your pictures",
  tag: "images",
  responses: {
    200: { description: "All of them, by the alphabet", schema: z.object({ items: z.array(tagSchema) }) },
  },
  handle: async ({ services, caller }) => Response.json({ items: await listTags(services, caller.userId) }),
});

/** DELETE /images/{id} */
const deleteImageRoute = defineRoute({
  method: "delete",
  path: "/images/{id}",
  operationId: "deleteImage",
  summary: "Delete a picture",
  description:
    "It goes into the trash, and after its time there for good. With `forGood` a picture of the trash goes at once. Its files go a while later, once no open job needs them.",
  tag: "images",
  resource: "image",
  params,
  query: z.object({ forGood: flagOfText.default(false).describe("Of the trash, for good") }),
  responses: { 204: { description: "Deleted" } },
  async handle({ services, caller, params: { id }, query }) {
    const remove = query.forGood ? deleteForGood : removeImages;
    const removed = await remove(services, { ids: [id], ownerId: caller.userId });
    if (removed.length === 0) throw new AppError("not_found");
    return new Response(null, { status: 204 });
  },
});

/** DELETE /images/{id}/consent */
const withdrawConsentRoute = defineRoute({
  method: "delete",
  path: "/images/{id}/consent",
  operationId: "withdrawConsent",
  summary: "Withdraw the consent to outfit changes",
  description:
    "Takes back your statement that the photo shows an adult who agrees, for its bytes: an `outfit_change` on it is refused with `consent_required` (422) until you state it again. Jobs that were accepted before go on.",
  tag: "images",
  resource: "image",
  params,
  responses: { 204: { description: "Withdrawn, or never stated" } },
  async handle({ services, caller, params: { id } }) {
    await withdrawConsent(services, { imageId: id, ownerId: caller.userId });
    return new Response(null, { status: 204 });
  },
});

/** POST /images/{id}/restore */
const restoreImageRoute = defineRoute({
  method: "post",
  path: "/images/{id}/restore",
  operationId: "restoreImage",
  summary: "Take a picture back from the trash",
  description:
    "`GET /api/v1/images?search=is:trashed` lists the trash. 404 also when the same bytes were uploaded again since.",
  tag: "images",
  resource: "image",
  params,
  responses: { 200: { description: "The picture", schema: imageSchema } },
  async handle({ services, caller, params: { id } }) {
    const own = { id, ownerId: caller.userId };
    await restoreImages(services, { ...own, ids: [id] });
    return Response.json(await getImage(services, own));
  },
});

export const imageRoutes = [
  listImagesRoute,
  getImageRoute,
  getImageByHashRoute,
  changeImageRoute,
  listTagsRoute,
  deleteImageRoute,
  restoreImageRoute,
  withdrawConsentRoute,
  getImageFileRoute,
  getImagesZipRoute,
];

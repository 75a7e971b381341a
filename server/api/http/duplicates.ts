import { z } from "zod";
import {
  dismissDuplicates,
  dismissSchema,
  type DuplicatePage,
  keepReasons,
  listDuplicates,
  listDuplicatesSchema,
  mergeDuplicates,
  mergeSchema,
  undoMerge,
  undoMergeSchema,
} from "../../duplicates/index.ts";
import { imageSchema } from "./images.ts";
import { defineRoute, type HttpRoute } from "./route.ts";

const tag = "images";

const groupSchema = z.object({
  id: z.uuid().describe("The newest of its pictures"),
  keepId: z.uuid().describe("The picture that is proposed to be kept"),
  reason: z
    .enum(keepReasons)
    .describe(
      "Why: it has the most pixels; the larger file; it is the oldest; it has the most boards, tags and stars",
    ),
  pictures: z
    .array(
      imageSchema.extend({
        boards: z.array(z.string()).describe("Names of your boards that it is on").readonly(),
      }),
    )
    .describe("The proposed one first, then the oldest")
    .readonly(),
});

const pageSchema = z.object({
  groups: z.array(groupSchema).readonly(),
  nextCursor: z.string().nullable(),
  total: z.object({ groups: z.int(), pictures: z.int() }).describe("Of all pages"),
  waiting: z.int().describe("Pictures that are not compared yet; a worker compares them in the background"),
}) satisfies z.ZodType<DuplicatePage>;

const listRoute = defineRoute({
  method: "get",
  path: "/duplicates",
  operationId: "listDuplicates",
  summary: "List your pictures that look the same, in groups",
  description:
    "Copies in another encoding, size or light, or a little cropped. Versions of one picture and the results of one batch are never in a group, nor are pictures in which something was changed.",
  tag,
  query: listDuplicatesSchema.extend({ limit: z.coerce.number().int().min(1).max(50).default(20) }),
  responses: { 200: { description: "A page; `nextCursor` is null on the last", schema: pageSchema } },
  handle: async ({ services, caller, query }) =>
    Response.json(pageSchema.parse(await listDuplicates(services, { ...query, ownerId: caller.userId }))),
});

const mergeRoute = defineRoute({
  method: "post",
  path: "/duplicates/merge",
  operationId: "mergeDuplicates",
  summary: "Keep one of your pictures and move its duplicates to the trash",
  description:
    "The kept picture gets the boards, tags, rating, star, title and description of the others, and their places in the wardrobe and in links. Keep the answer to take it back with `POST /api/v1/duplicates/undo`.",
  tag,
  body: mergeSchema,
  responses: { 200: { description: "What it did", schema: undoMergeSchema } },
  handle: async ({ services, caller, body }) =>
    Response.json(await mergeDuplicates(services, { ...body, ownerId: caller.userId })),
});

const undoRoute = defineRoute({
  method: "post",
  path: "/duplicates/undo",
  operationId: "undoMerge",
  summary: "Take a merge of duplicates back",
  description:
    "While the pictures are in the trash. Once all are back, the kept picture loses what it got from them, unless that was changed since.",
  tag,
  body: undoMergeSchema,
  responses: {
    200: {
      description: "The pictures that are back",
      schema: z.object({ restoredIds: z.array(z.uuid()) }),
    },
  },
  handle: async ({ services, caller, body }) =>
    Response.json({ restoredIds: await undoMerge(services, { ...body, ownerId: caller.userId }) }),
});

const dismissRoute = defineRoute({
  method: "post",
  path: "/duplicates/dismiss",
  operationId: "dismissDuplicates",
  summary: "Say that pictures are no duplicates of each other",
  description: "They are not listed as a group again; with `dismissed: false` they are.",
  tag,
  body: dismissSchema,
  responses: { 204: { description: "Noted" } },
  async handle({ services, caller, body }) {
    await dismissDuplicates(services, { ...body, ownerId: caller.userId });
    return new Response(null, { status: 204 });
  },
});

export const duplicateRoutes: readonly HttpRoute[] = [listRoute, mergeRoute, undoRoute, dismissRoute];

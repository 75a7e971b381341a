import { z } from "zod";
import { accountOf } from "../../accounts/index.ts";
import {
  copyFromBoard,
  type BoardMember,
  boardMemberSchema,
  boardRights,
  listBoardMembers,
  listSharedBoards,
  listSharedPictures,
  openSharedPicture,
  shareBoard,
  type SharedBoard,
  type SharedPicture,
  sharedPicturesSchema,
  unshareBoard,
} from "../../boards/index.ts";
import { variants } from "../../images/index.ts";
import { flagOfText } from "../../platform/index.ts";
import { defineRoute, type HttpRoute } from "./route.ts";
import { servedStream } from "./streams.ts";

const tag = "boards";
const params = z.object({ id: z.uuid() });

const memberSchema = z.object({
  userId: z.string(),
  name: z.string(),
  email: z.string(),
  right: z.enum(boardRights).describe("`add`: they put own pictures on it, too"),
}) satisfies z.ZodType<BoardMember>;

const membersSchema = z.object({ items: z.array(memberSchema) });

const sharedBoardSchema = z.object({
  id: z.uuid(),
  name: z.string(),
  ownerName: z.string(),
  right: z.enum(["own", ...boardRights]),
  pictures: z.int().describe("How many are on it, of all who put some there"),
  coverIds: z.array(z.uuid()).describe("The pictures that came last, at most four"),
}) satisfies z.ZodType<Omit<SharedBoard, "held" | "coverIds">>;

const sharedPictureSchema = z.object({
  id: z.uuid(),
  widthPx: z.int(),
  heightPx: z.int(),
  thumbhash: z.string().describe("Base64"),
  title: z.string(),
  isAi: z.boolean(),
  ownerName: z.string().describe("Who put it there"),
  isOwn: z.boolean(),
}) satisfies z.ZodType<SharedPicture>;

const listSharedRoute = defineRoute({
  method: "get",
  path: "/shared-boards",
  operationId: "listSharedBoards",
  summary: "List the boards that others share with you",
  tag,
  responses: {
    200: {
      description: "All of them, by the alphabet",
      schema: z.object({ items: z.array(sharedBoardSchema) }),
    },
  },
  handle: async ({ services, caller }) => {
    const items = await listSharedBoards(services, { userId: caller.userId });
    return Response.json({ items: items.map((item) => sharedBoardSchema.parse(item)) });
  },
});

const listMembersRoute = defineRoute({
  method: "get",
  path: "/boards/{id}/members",
  operationId: "listBoardMembers",
  summary: "List the users with whom your board is shared",
  tag,
  resource: "board",
  params,
  responses: { 200: { description: "All of them, by their names", schema: membersSchema } },
  handle: async ({ services, caller, params: { id } }) =>
    Response.json({ items: await listBoardMembers(services, { id, ownerId: caller.userId }) }),
});

const shareRoute = defineRoute({
  method: "post",
  path: "/boards/{id}/members",
  operationId: "shareBoard",
  summary: "Share your board with a user of the studio",
  description:
    "They see the pictures of all who put some there; with `add` they put own ones beside them. For a member it changes the right. At most 50 members; saved searches are not shared.",
  tag,
  resource: "board",
  params,
  body: boardMemberSchema,
  responses: { 200: { description: "All members", schema: membersSchema } },
  handle: async ({ services, caller, params: { id }, body }) =>
    Response.json({ items: await shareBoard(services, { ...body, id, ownerId: accountOf(caller) }) }),
});

const unshareRoute = defineRoute({
  method: "delete",
  path: "/boards/{id}/members/{userId}",
  operationId: "unshareBoard",
  summary: "End the sharing of your board with a user",
  description: "It ends at once, and the pictures that they put there are taken off.",
  tag,
  resource: "board",
  params: params.extend({ userId: z.string().max(100) }),
  responses: { 204: { description: "Ended" } },
  async handle({ services, caller, params: { id, userId } }) {
    await unshareBoard(services, { id, userId, ownerId: caller.userId });
    return new Response(null, { status: 204 });
  },
});

const listPicturesRoute = defineRoute({
  method: "get",
  path: "/boards/{id}/images",
  operationId: "listBoardImages",
  summary: "List the pictures of a board, with those of others",
  description:
    'Of an own board, or of one that is shared with you; what came last is first. `GET /api/v1/images?search=board:"name"` finds your own pictures alone, with all that is known of them.',
  tag,
  resource: "board",
  params,
  query: sharedPicturesSchema
    .omit({ id: true })
    .extend({ limit: z.coerce.number().int().min(1).max(100).default(60) }),
  responses: {
    200: {
      description: "A page; `nextCursor` is null on the last",
      schema: z.object({ items: z.array(sharedPictureSchema), nextCursor: z.string().nullable() }),
    },
  },
  handle: async ({ services, caller, params: { id }, query }) =>
    Response.json(await listSharedPictures(services, { ...query, id, userId: caller.userId })),
});

const fileRoute = defineRoute({
  method: "get",
  path: "/boards/{id}/images/{imageId}/file",
  operationId: "getBoardImageFile",
  summary: "Download a picture of a board",
  description:
    "Also one of somebody else, while it is on a board that you may see. `preview` is at most 1,280 pixels, `thumbnail` at most 320. Answers 304 to a matching If-None-Match.",
  tag,
  resource: "board",
  params: params.extend({ imageId: z.uuid() }),
  query: z.object({
    variant: z.enum(variants).default("original"),
    download: flagOfText.default(false).describe("As an attachment, to be saved"),
  }),
  responses: {
    200: { description: "The file", contentType: "image/*" },
    304: { description: "Your copy is still right" },
  },
  async handle({ services, caller, params: { id, imageId }, query, request }) {
    const { headers, isCurrent, body } = await openSharedPicture(services, {
      ...query,
      id,
      imageId,
      userId: caller.userId,
      ifNoneMatch: request.headers.get("if-none-match"),
      isHead: request.method === "HEAD",
    });
    if (!body) return new Response(null, { status: isCurrent ? 304 : 200, headers });
    return new Response(
      servedStream(services, body, () => Promise.resolve()),
      { headers },
    );
  },
});

const copyRoute = defineRoute({
  method: "post",
  path: "/boards/{id}/images/{imageId}/copy",
  operationId: "copyBoardImage",
  summary: "Copy a picture of a board into your gallery",
  description:
    "The copy is yours and stays when the sharing ends. A picture that was copied before, or is yours, is not stored again.",
  tag,
  resource: "board",
  params: params.extend({ imageId: z.uuid() }),
  responses: {
    200: {
      description: "Your picture",
      schema: z.object({ id: z.uuid(), created: z.boolean().describe("False: you had it already") }),
    },
  },
  handle: async ({ services, caller, params: { id, imageId } }) =>
    Response.json(await copyFromBoard(services, { id, imageId, userId: caller.userId })),
});

export const sharedBoardRoutes: readonly HttpRoute[] = [
  listSharedRoute,
  listMembersRoute,
  shareRoute,
  unshareRoute,
  listPicturesRoute,
  fileRoute,
  copyRoute,
];

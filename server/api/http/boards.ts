import { z } from "zod";
import {
  addToBoard,
  boardPicturesSchema,
  type BoardView,
  changeBoard,
  changeBoardSchema,
  createBoard,
  createBoardSchema,
  getBoard,
  listBoards,
  removeBoard,
  takeFromBoard,
} from "../../boards/index.ts";
import { defineRoute, type HttpRoute } from "./route.ts";

const tag = "boards";
const params = z.object({ id: z.uuid() });

const boardSchema = z.object({
  id: z.uuid(),
  name: z.string(),
  search: z.string().nullable().describe("Of a saved search; null for a board with pictures of its own"),
  pictures: z.int().nullable().describe("How many of yours are on it; null for a saved search"),
  members: z.int().describe("With how many users it is shared"),
  coverIds: z.array(z.uuid()).describe("The pictures that came last, at most four"),
  createdAt: z.iso.datetime(),
}) satisfies z.ZodType<Omit<BoardView, "held" | "coverIds">>;

const answer = (board: BoardView, init?: ResponseInit) => Response.json(boardSchema.parse(board), init);

const listRoute = defineRoute({
  method: "get",
  path: "/boards",
  operationId: "listBoards",
  summary: "List your boards and saved searches",
  description:
    'Their pictures: `GET /api/v1/images?search=board:"name"`, or with the `search` of a saved search.',
  tag,
  responses: {
    200: {
      description:
        "All of them: in the order that their owner gave them on the page, the others behind these by the alphabet",
      schema: z.object({ items: z.array(boardSchema) }),
    },
  },
  handle: async ({ services, caller }) => {
    const items = await listBoards(services, { ownerId: caller.userId });
    return Response.json({ items: items.map((item) => boardSchema.parse(item)) });
  },
});

const createRoute = defineRoute({
  method: "post",
  path: "/boards",
  operationId: "createBoard",
  summary: "Make a board or a saved search",
  description:
    "With `search` it is a saved search: what it finds, whenever it is looked at. Without, a board with the pictures of `imageIds`; those that are not yours are left out. At most 200, each with a name of its own.",
  tag,
  body: createBoardSchema,
  responses: { 201: { description: "The board", schema: boardSchema } },
  async handle({ services, caller, body }) {
    const board = await createBoard(services, { ...body, ownerId: caller.userId });
    return answer(board, { status: 201, headers: { Location: `/api/v1/boards/${board.id}` } });
  },
});

const getRoute = defineRoute({
  method: "get",
  path: "/boards/{id}",
  operationId: "getBoard",
  summary: "Get a board",
  tag,
  resource: "board",
  params,
  responses: { 200: { description: "The board", schema: boardSchema } },
  handle: async ({ services, caller, params: { id } }) =>
    answer(await getBoard(services, { id, ownerId: caller.userId })),
});

const changeRoute = defineRoute({
  method: "patch",
  path: "/boards/{id}",
  operationId: "changeBoard",
  summary: "Rename a board, or change a saved search",
  tag,
  resource: "board",
  params,
  body: changeBoardSchema,
  responses: { 200: { description: "The board", schema: boardSchema } },
  handle: async ({ services, caller, params: { id }, body }) =>
    answer(await changeBoard(services, { ...body, id, ownerId: caller.userId })),
});

const removeRoute = defineRoute({
  method: "delete",
  path: "/boards/{id}",
  operationId: "removeBoard",
  summary: "Remove a board",
  description: "Its pictures stay.",
  tag,
  resource: "board",
  params,
  responses: { 204: { description: "Removed" } },
  async handle({ services, caller, params: { id } }) {
    await removeBoard(services, { id, ownerId: caller.userId });
    return new Response(null, { status: 204 });
  },
});

const some = boardPicturesSchema.shape.imageIds.optional();

const picturesRoute = defineRoute({
  method: "post",
  path: "/boards/{id}/images",
  operationId: "changeBoardImages",
  summary: "Put pictures on a board, or take them off",
  description:
    "Also on a board that is shared with you with the right to add; there you take off your own. What is there already, or is not yours, is left out of the answer. Nothing is deleted.",
  tag,
  resource: "board",
  params,
  body: z.strictObject({ add: some, remove: some }),
  responses: {
    200: {
      description: "What came and what went",
      schema: z.object({ added: z.array(z.uuid()), removed: z.array(z.uuid()) }),
    },
  },
  async handle({ services, caller, params: { id }, body: { add = [], remove = [] } }) {
    const address = { id, userId: caller.userId };
    const added = await addToBoard(services, { ...address, imageIds: add });
    const removed = await takeFromBoard(services, { ...address, imageIds: remove });
    return Response.json({ added, removed });
  },
});

export const boardRoutes: readonly HttpRoute[] = [
  listRoute,
  createRoute,
  getRoute,
  changeRoute,
  removeRoute,
  picturesRoute,
];

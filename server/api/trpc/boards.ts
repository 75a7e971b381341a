import { z } from "zod";
import { accountOf } from "../../accounts/index.ts";
import {
  addToBoard,
  boardMemberSchema,
  boardPicturesSchema,
  copyFromBoard,
  changeBoard,
  changeBoardSchema,
  countSaved,
  createBoard,
  createBoardSchema,
  getSharedBoard,
  leaveBoard,
  listBoardMembers,
  listBoards,
  orderBoards,
  orderBoardsSchema,
  listSharedBoards,
  listSharedPictures,
  removeBoard,
  restoreBoard,
  shareBoard,
  sharedPicturesSchema,
  takeFromBoard,
  unshareBoard,
} from "../../boards/index.ts";
import { listGallerySchema } from "../../images/index.ts";
import { t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

const one = z.strictObject({ id: z.uuid() });

export const boardsRouter = t.router({
  list: memberProcedure.input(boardPicturesSchema.partial().prefault({})).query(async ({ ctx, input }) => ({
    items: await listBoards(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  /** What the saved searches find, up to 100 each. */
  counts: memberProcedure
    .input(listGallerySchema.pick({ timezone: true }).prefault({}))
    .query(async ({ ctx, input, signal }) => ({
      items: await countSaved(ctx.services, { ...input, ownerId: ctx.caller.userId, signal }),
    })),

  create: memberProcedure
    .input(createBoardSchema)
    .mutation(({ ctx, input }) => createBoard(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  change: memberProcedure
    .input(changeBoardSchema.extend(one.shape))
    .mutation(({ ctx, input }) => changeBoard(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Can be taken back with `restore` for a while. */
  remove: memberProcedure.input(one).mutation(async ({ ctx, input }) => {
    await removeBoard(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return input;
  }),

  /** Of those that are the user's, in this order before all others. */
  order: memberProcedure.input(orderBoardsSchema).mutation(async ({ ctx, input }) => {
    await orderBoards(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return input;
  }),

  restore: memberProcedure
    .input(one)
    .mutation(({ ctx, input }) => restoreBoard(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Says which were not there before. */
  add: memberProcedure.input(boardPicturesSchema.extend(one.shape)).mutation(async ({ ctx, input }) => ({
    ids: await addToBoard(ctx.services, { ...input, userId: ctx.caller.userId }),
  })),

  /** Says which were there. */
  takeOut: memberProcedure.input(boardPicturesSchema.extend(one.shape)).mutation(async ({ ctx, input }) => ({
    ids: await takeFromBoard(ctx.services, { ...input, userId: ctx.caller.userId }),
  })),

  /** What others share with the user. */
  shared: memberProcedure.input(boardPicturesSchema.partial().prefault({})).query(async ({ ctx, input }) => ({
    items: await listSharedBoards(ctx.services, { ...input, userId: ctx.caller.userId }),
  })),

  /** An own board or a shared one, with the pictures of all. */
  open: memberProcedure
    .input(one)
    .query(({ ctx, input }) => getSharedBoard(ctx.services, { ...input, userId: ctx.caller.userId })),

  pictures: memberProcedure
    .input(sharedPicturesSchema)
    .query(({ ctx, input }) => listSharedPictures(ctx.services, { ...input, userId: ctx.caller.userId })),

  /** Of somebody else's picture; says whether it is new in the own gallery. */
  copy: memberProcedure
    .input(one.extend({ imageId: z.uuid() }))
    .mutation(({ ctx, input }) => copyFromBoard(ctx.services, { ...input, userId: ctx.caller.userId })),

  members: memberProcedure.input(one).query(async ({ ctx, input }) => ({
    items: await listBoardMembers(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  share: memberProcedure.input(boardMemberSchema.extend(one.shape)).mutation(async ({ ctx, input }) => ({
    items: await shareBoard(ctx.services, { ...input, ownerId: accountOf(ctx.caller) }),
  })),

  unshare: memberProcedure
    .input(one.extend({ userId: z.string().max(100) }))
    .mutation(async ({ ctx, input }) => ({
      items: await unshareBoard(ctx.services, { ...input, ownerId: ctx.caller.userId }),
    })),

  leave: memberProcedure.input(one).mutation(async ({ ctx, input }) => {
    await leaveBoard(ctx.services, { ...input, userId: ctx.caller.userId });
    return input;
  }),
});

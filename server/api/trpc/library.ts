import { z } from "zod";
import {
  getImage,
  listImages,
  listImagesSchema,
  removeImages,
  renameImage,
  restoreImages,
  starImage,
} from "../../images/index.ts";
import { t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

const one = z.strictObject({ id: z.uuid() });
const many = z.strictObject({ ids: z.array(z.uuid()).min(1).max(500) });

export const imagesRouter = t.router({
  list: memberProcedure
    .input(listImagesSchema.prefault({}))
    .query(({ ctx, input }) => listImages(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  get: memberProcedure
    .input(one)
    .query(({ ctx, input }) => getImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Can be taken back with `restore` for a while. */
  remove: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await removeImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  restore: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await restoreImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  star: memberProcedure
    .input(one.extend({ starred: z.boolean() }))
    .mutation(({ ctx, input }) => starImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  rename: memberProcedure
    .input(one.extend({ title: z.string().max(1_000) }))
    .mutation(({ ctx, input }) => renameImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),
});

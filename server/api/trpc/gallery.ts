import { z } from "zod";
import {
  dismissDuplicates,
  dismissSchema,
  listDuplicates,
  listDuplicatesSchema,
  mergeAllDuplicates,
  mergeAllSchema,
  mergeDuplicates,
  mergeSchema,
  undoMerges,
  undoMergesSchema,
} from "../../duplicates/index.ts";
import {
  changeImage,
  chooseTop,
  countMonths,
  dateImages,
  dateImagesSchema,
  deleteForGood,
  emptyTrash,
  getImage,
  listGallerySchema,
  listImages,
  listTags,
  markImages,
  removeImages,
  removeTag,
  renameTag,
  restoreImages,
  tagImages,
  tagNameSchema,
  untagImages,
} from "../../images/index.ts";
import {
  listPresets,
  previewPrompts,
  previewSchema,
  removePreset,
  restorePreset,
  savePreset,
  savePresetSchema,
} from "../../presets/index.ts";
import { countUses } from "../../wardrobe/index.ts";
import { t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

const one = z.strictObject({ id: z.uuid() });
const many = z.strictObject({ ids: z.array(z.uuid()).min(1).max(500) });

export const imagesRouter = t.router({
  list: memberProcedure
    .input(listGallerySchema.prefault({}))
    .query(({ ctx, input }) => listImages(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Of the list of stacks with this search; null where counting would take too long. */
  months: memberProcedure
    .input(listGallerySchema.pick({ search: true, timezone: true }).prefault({}))
    .query(async ({ ctx, input }) => ({
      months: await countMonths(ctx.services, { ...input, ownerId: ctx.caller.userId }),
    })),

  get: memberProcedure
    .input(one)
    .query(({ ctx, input }) => getImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Can be taken back with `restore` for a while; says how many items of the wardrobe showed one of them. */
  remove: memberProcedure.input(many).mutation(async ({ ctx, input }) => {
    const ownerId = ctx.caller.userId;
    const ids = await removeImages(ctx.services, { ...input, ownerId });
    return { ids, inWardrobe: await countUses(ctx.services, { ownerId, imageIds: ids }) };
  }),

  restore: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await restoreImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  /** Of the trash; nothing takes it back. */
  deleteForGood: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await deleteForGood(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  emptyTrash: memberProcedure.mutation(async ({ ctx }) => ({
    pictures: await emptyTrash(ctx.services, ctx.caller.userId),
  })),

  star: memberProcedure.input(many.extend({ starred: z.boolean() })).mutation(async ({ ctx, input }) => ({
    ids: await markImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  rename: memberProcedure
    .input(one.extend({ title: z.string().max(1_000) }))
    .mutation(({ ctx, input }) => changeImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  describe: memberProcedure
    .input(one.extend({ description: z.string().max(10_000) }))
    .mutation(({ ctx, input }) => changeImage(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Where they stand in lists; says what each was given before, which takes it back. */
  date: memberProcedure
    .input(dateImagesSchema)
    .mutation(({ ctx, input }) => dateImages(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** 0 takes the rating away. */
  rate: memberProcedure
    .input(many.extend({ rating: z.int().min(0).max(5) }))
    .mutation(async ({ ctx, input }) => ({
      ids: await markImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
    })),

  /** Whether it is the one that shows its stack; says which one was chosen before. */
  top: memberProcedure
    .input(one.extend({ onTop: z.boolean() }))
    .mutation(({ ctx, input }) => chooseTop(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Says which did not have the tag before. */
  tag: memberProcedure.input(many.extend({ name: tagNameSchema })).mutation(async ({ ctx, input }) => ({
    ids: await tagImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  /** Says which had it. */
  untag: memberProcedure.input(many.extend({ name: tagNameSchema })).mutation(async ({ ctx, input }) => ({
    ids: await untagImages(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),
});

export const tagsRouter = t.router({
  list: memberProcedure.query(async ({ ctx }) => ({
    items: await listTags(ctx.services, ctx.caller.userId),
  })),

  rename: memberProcedure
    .input(one.extend({ name: tagNameSchema }))
    .mutation(({ ctx, input }) => renameTag(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** From all pictures, for good. */
  remove: memberProcedure.input(one).mutation(async ({ ctx, input }) => {
    await removeTag(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return input;
  }),
});

export const duplicatesRouter = t.router({
  list: memberProcedure
    .input(listDuplicatesSchema.prefault({}))
    .query(({ ctx, input }) => listDuplicates(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Its answer is what `undo` takes, several at a time. */
  merge: memberProcedure
    .input(mergeSchema)
    .mutation(({ ctx, input }) => mergeDuplicates(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Some groups at a time; the page calls until none is left. */
  mergeAll: memberProcedure
    .input(mergeAllSchema.prefault({}))
    .mutation(({ ctx, input }) => mergeAllDuplicates(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  undo: memberProcedure
    .input(undoMergesSchema)
    .mutation(({ ctx, input }) => undoMerges(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  dismiss: memberProcedure.input(dismissSchema).mutation(async ({ ctx, input }) => {
    await dismissDuplicates(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return input;
  }),
});

/** Lists, styles and favourites: the caller's, the studio's and those that every studio has. */
export const presetsRouter = t.router({
  list: memberProcedure.query(async ({ ctx }) => ({
    items: await listPresets(ctx.services, ctx.caller),
  })),

  /** The studio's are saved by admins alone. */
  save: memberProcedure
    .input(savePresetSchema)
    .mutation(({ ctx, input }) => savePreset(ctx.services, { ...input, reader: ctx.caller })),

  /** Can be taken back with `restore` for a while. */
  remove: memberProcedure.input(one).mutation(async ({ ctx, input }) => {
    await removePreset(ctx.services, { ...input, reader: ctx.caller });
    return input;
  }),

  restore: memberProcedure.input(one).mutation(async ({ ctx, input }) => {
    await restorePreset(ctx.services, { ...input, reader: ctx.caller });
    return input;
  }),

  /** What becomes of a prompt with choices, lists and styles. By POST, since addresses are logged. */
  preview: memberProcedure
    .input(previewSchema)
    .mutation(({ ctx, input }) => previewPrompts(ctx.services, { ...input, userId: ctx.caller.userId })),
});

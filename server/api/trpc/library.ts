import { z } from "zod";
import {
  addPassword,
  type Caller,
  createApiKey,
  confirmPassword,
  endOtherSessions,
  endSession,
  getAccount,
  keyRights,
  listApiKeys,
  listSessions,
  maxKeyCapUsd,
  passkeyName,
  readSecurity,
  removePasskey,
  removePassword,
  removeProvider,
  renamePasskey,
  maxKeyDays,
  maxKeyNameLength,
  maxKeyPerMinute,
  refuseGuest,
  revokeApiKey,
  setKeyCap,
  setLocale,
  spendResetLink,
} from "../../accounts/index.ts";
import { stopStepsOfKey } from "../../batches/index.ts";
import { capPeriods } from "../../db/index.ts";
import {
  getEdit,
  listEdits,
  listEditsSchema,
  removeEdit,
  saveEdit,
  saveEditSchema,
} from "../../edits/index.ts";
import { readUsage } from "../../images/index.ts";
import {
  changeLink,
  changeLinkSchema,
  createLink,
  createLinkSchema,
  listLinks,
  restoreLink,
  revokeLink,
} from "../../links/index.ts";
import { takeInPicture } from "../../jobs/index.ts";
import { locales } from "../../locales.ts";
import { lineOfText } from "../../platform/index.ts";
import { offeredModels, offeredWorkflows, readListedNames } from "../../scheduling/index.ts";
import { deleteOwnAccount, deletionWord } from "../../users/index.ts";
import {
  addItem,
  addItemSchema,
  changeItem,
  changeItemSchema,
  hasConsent,
  importPictureSchema,
  listItems,
  removeItems,
  restoreItems,
  stateConsent,
  withdrawConsent,
} from "../../wardrobe/index.ts";
import { asOneOfFew } from "../requests.ts";
import { t } from "./init.ts";
import { accountProcedure, grantProcedure, memberProcedure, publicProcedure } from "./procedures.ts";

/** What a change of the ways in asks of its session. */
const ownOf = ({ userId, sessionId, adminLack }: Caller) => ({ userId, sessionId, adminLack });

export const accountRouter = t.router({
  /** Null without a session. */
  me: publicProcedure.query(({ ctx }) => (ctx.caller ? getAccount(ctx.services, ctx.caller) : null)),
  /** The space that the caller's pictures take up, and how much they may. */
  usage: memberProcedure.query(({ ctx }) => readUsage(ctx.services, ctx.caller.userId)),
  /** The language of the pages, mails and messages; null for that of the browser. */
  setLocale: memberProcedure
    .input(z.strictObject({ locale: z.enum(locales).nullable() }))
    .mutation(({ ctx, input }) =>
      setLocale(ctx.services, { userId: ctx.caller.userId, locale: input.locale }),
    ),
  /** The devices on which the account is signed in. */
  sessions: accountProcedure.query(async ({ ctx: { services, caller } }) => {
    const { userId, sessionId = null } = caller;
    return { items: await listSessions(services, { userId, sessionId }) };
  }),
  endSession: accountProcedure.input(z.strictObject({ id: lineOfText })).mutation(async ({ ctx, input }) => {
    await endSession(ctx.services, { userId: ctx.caller.userId, id: input.id });
    return input;
  }),
  endOtherSessions: accountProcedure.mutation(async ({ ctx: { services, caller } }) => {
    const { userId, sessionId = null } = caller;
    return { ended: await endOtherSessions(services, { userId, sessionId }) };
  }),
  /** How the caller signs in: password, authenticator app, passkeys. */
  security: accountProcedure.query(({ ctx }) => readSecurity(ctx.services, ctx.caller.userId)),
  /** With the password, passkeys may be changed in this session for ten minutes. */
  confirmPassword: accountProcedure
    .input(z.strictObject({ password: z.string().max(1_000) }))
    .mutation(async ({ ctx: { services, caller }, input }) => {
      await confirmPassword(services, { ...ownOf(caller), password: input.password });
    }),
  renamePasskey: accountProcedure
    .input(z.strictObject({ id: lineOfText, name: passkeyName }))
    .mutation(async ({ ctx, input }) => {
      await renamePasskey(ctx.services, { userId: ctx.caller.userId, ...input });
    }),
  removePasskey: accountProcedure
    .input(z.strictObject({ id: lineOfText }))
    .mutation(async ({ ctx: { services, caller }, input }) => {
      await removePasskey(services, { ...ownOf(caller), id: input.id });
    }),
  removePassword: accountProcedure.mutation(({ ctx }) => removePassword(ctx.services, ownOf(ctx.caller))),
  /** Of a provider of the configuration, by its id there. */
  removeProvider: accountProcedure
    .input(z.strictObject({ id: lineOfText }))
    .mutation(async ({ ctx: { services, caller }, input }) => {
      await removeProvider(services, { ...ownOf(caller), id: input.id });
    }),
  /** The first one of an account without a password. */
  addPassword: accountProcedure
    .input(z.strictObject({ password: z.string().max(1_000) }))
    .mutation(async ({ ctx: { services, caller }, input }) => {
      await addPassword(services, { ...ownOf(caller), password: input.password });
    }),
  /** By the one-time link of an admin. */
  resetPassword: publicProcedure
    .input(z.strictObject({ token: z.string().max(100), password: z.string().max(1_000) }))
    .mutation(async ({ ctx, input }) => {
      await spendResetLink(ctx.services, input);
    }),
  /** Removes the caller's account with everything; a guest has no password. */
  remove: memberProcedure
    .input(z.strictObject({ confirm: z.literal(deletionWord), password: z.string().max(1_000).optional() }))
    .mutation(({ ctx, input }) =>
      deleteOwnAccount(ctx.services, { caller: ctx.caller, password: input.password }),
    ),
});

const capSchema = z.strictObject({ usd: z.number().min(0).max(maxKeyCapUsd), period: z.enum(capPeriods) });

export const apiKeysRouter = t.router({
  list: accountProcedure.query(async ({ ctx }) => ({
    items: await listApiKeys(ctx.services, { userId: ctx.caller.userId }),
  })),
  /** The answer's `key` is shown this once. */
  create: grantProcedure
    .input(
      z.strictObject({
        name: lineOfText.trim().min(1).max(maxKeyNameLength),
        rights: z.array(z.enum(keyRights)).min(1).max(keyRights.length).nullable().default(null),
        days: z.int().min(1).max(maxKeyDays).nullable().default(null),
        perMinute: z.int().min(1).max(maxKeyPerMinute).nullable().default(null),
        cap: capSchema.nullable().default(null),
      }),
    )
    .mutation(({ ctx, input }) =>
      createApiKey(ctx.services, { userId: ctx.caller.userId, maker: ctx.caller, ...input }),
    ),
  setCap: grantProcedure
    .input(z.strictObject({ id: lineOfText, cap: capSchema.nullable() }))
    .mutation(async ({ ctx, input }) => {
      await setKeyCap(ctx.services, { userId: ctx.caller.userId, ...input });
      return { id: input.id };
    }),
  revoke: accountProcedure.input(z.strictObject({ id: lineOfText })).mutation(async ({ ctx, input }) => {
    const own = { userId: ctx.caller.userId, id: input.id };
    await revokeApiKey(ctx.services, own);
    ctx.services.later(stopStepsOfKey(ctx.services, own));
    return { id: input.id };
  }),
});

export const workflowsRouter = t.router({
  /** What servers list that can run the workflow, by param: LoRAs, checkpoints, samplers, schedulers. */
  listed: memberProcedure
    .input(z.strictObject({ workflow: lineOfText.max(100) }))
    .query(({ ctx, input }) => readListedNames(ctx.services.db, input.workflow)),
  /**
   * Workflows and models of providers to choose from, runnable ones first. Only callers with a session see what the
   * servers lack, and only those with an account the models: guests spend nothing.
   */
  list: publicProcedure.query(async ({ ctx }) => {
    const { db, config } = ctx.services;
    const models = ctx.caller && !ctx.caller.isGuest ? await offeredModels(db, config) : [];
    const items = [...(await offeredWorkflows(db, config)), ...models].toSorted(
      (a, b) => Number(b.isLive) - Number(a.isLive) || a.rank - b.rank,
    );
    return { items: ctx.caller ? items : items.map((workflow) => ({ ...workflow, missing: [] })) };
  }),
});

const one = z.strictObject({ id: z.uuid() });
const many = z.strictObject({ ids: z.array(z.uuid()).min(1).max(500) });

/** What the editor holds of a picture. */
export const editsRouter = t.router({
  /** Null while nothing was changed in the editor. */
  get: memberProcedure
    .input(z.strictObject({ imageId: z.uuid() }))
    .query(({ ctx, input }) => getEdit(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  save: memberProcedure
    .input(saveEditSchema)
    .mutation(({ ctx, input }) => saveEdit(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  list: memberProcedure
    .input(listEditsSchema.prefault({}))
    .query(({ ctx, input }) => listEdits(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  remove: memberProcedure.input(z.strictObject({ id: z.uuid() })).mutation(async ({ ctx, input }) => {
    await removeEdit(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return { id: input.id };
  }),
});

/** A guest could not revoke a link any more once the cookie is lost. */
const sharingProcedure = memberProcedure.use(({ ctx, next }) => {
  refuseGuest(ctx.caller);
  return next();
});

/** Links of the caller. The token is in the answer of `create` alone. */
export const linksRouter = t.router({
  list: sharingProcedure.query(async ({ ctx }) => ({
    items: await listLinks(ctx.services, ctx.caller.userId),
  })),
  create: sharingProcedure
    .input(createLinkSchema)
    .mutation(({ ctx, input }) => createLink(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  change: sharingProcedure
    .input(changeLinkSchema)
    .mutation(({ ctx, input }) => changeLink(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  /** Can be taken back with `restore` for a while. */
  revoke: sharingProcedure.input(one).mutation(async ({ ctx, input }) => {
    await revokeLink(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return input;
  }),
  restore: sharingProcedure
    .input(one)
    .mutation(({ ctx, input }) => restoreLink(ctx.services, { ...input, ownerId: ctx.caller.userId })),
});

const ofImage = z.strictObject({ imageId: z.uuid() });

export const wardrobeRouter = t.router({
  list: memberProcedure.query(async ({ ctx }) => ({
    items: await listItems(ctx.services, { ownerId: ctx.caller.userId }),
  })),

  /** A picture that is in the wardrobe already is changed. */
  add: memberProcedure
    .input(addItemSchema)
    .mutation(({ ctx, input }) => addItem(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** Fetches a picture from a public address, stores it like an upload, and puts nothing into the wardrobe yet. */
  importPicture: memberProcedure
    .input(importPictureSchema)
    .mutation(async ({ ctx, input: { url, what } }) => {
      const { services, caller, request } = ctx;
      const picture = { role: what, url };
      const take = () => takeInPicture(services, picture, { submitter: caller, signal: request.signal });
      const { id } = await asOneOfFew({ services, caller }, "fetch", take);
      return { imageId: id };
    }),

  change: memberProcedure
    .input(changeItemSchema)
    .mutation(({ ctx, input }) => changeItem(ctx.services, { ...input, ownerId: ctx.caller.userId })),

  /** The pictures stay in the gallery. */
  remove: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await removeItems(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  restore: memberProcedure.input(many).mutation(async ({ ctx, input }) => ({
    ids: await restoreItems(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  /** Whether the statement about a person's photo was made. */
  hasConsent: memberProcedure.input(ofImage).query(async ({ ctx, input }) => ({
    isGiven: await hasConsent(ctx.services, { ...input, ownerId: ctx.caller.userId }),
  })),

  stateConsent: memberProcedure.input(ofImage).mutation(async ({ ctx, input }) => {
    await stateConsent(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return { imageId: input.imageId };
  }),

  /** The next order for the photo asks for the statement again. */
  withdrawConsent: memberProcedure.input(ofImage).mutation(async ({ ctx, input }) => {
    await withdrawConsent(ctx.services, { ...input, ownerId: ctx.caller.userId });
    return { imageId: input.imageId };
  }),
});

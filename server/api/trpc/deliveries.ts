import { z } from "zod";
import {
  confirmEmail,
  createEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listDeliveries,
  listDeliveriesSchema,
  listEndpoints,
  readAttempts,
  readNotifications,
  redeliver,
  requestEmailCode,
  rotateSecret,
  searchDeliveries,
  searchDeliveriesSchema,
  setNotification,
  testEndpoint,
} from "../../deliveries/index.ts";
import { createLink, readTelegramState, unlink } from "../../telegram/index.ts";
import { t } from "./init.ts";
import { accountProcedure, adminAction, adminProcedure, grantProcedure } from "./procedures.ts";

const one = z.strictObject({ id: z.uuid() });
const maxUrlLength = 2_000;

/** Endpoints of the caller. Secrets are in the answers of `create` and `rotate` alone. */
export const webhooksRouter = t.router({
  list: accountProcedure.query(async ({ ctx }) => ({
    items: await listEndpoints(ctx.services, ctx.caller.userId),
  })),
  /** With `url` null the secret signs what goes to the `webhookUrl` of jobs. */
  create: accountProcedure
    .input(z.strictObject({ url: z.string().max(maxUrlLength).nullable() }))
    .mutation(({ ctx, input }) =>
      createEndpoint(ctx.services, { ownerId: ctx.caller.userId, url: input.url }),
    ),
  rotate: accountProcedure
    .input(one)
    .mutation(({ ctx, input }) => rotateSecret(ctx.services, { ownerId: ctx.caller.userId, ...input })),
  enable: accountProcedure.input(one.extend({ isEnabled: z.boolean() })).mutation(async ({ ctx, input }) => {
    await enableEndpoint(ctx.services, { ownerId: ctx.caller.userId, ...input });
    return input;
  }),
  test: accountProcedure
    .input(one)
    .mutation(({ ctx, input }) => testEndpoint(ctx.services, { ownerId: ctx.caller.userId, ...input })),
  remove: accountProcedure.input(one).mutation(async ({ ctx, input }) => {
    await deleteEndpoint(ctx.services, { ownerId: ctx.caller.userId, ...input });
    return input;
  }),
});

/** The caller's log of deliveries. */
export const deliveriesRouter = t.router({
  list: accountProcedure
    .input(listDeliveriesSchema.prefault({}))
    .query(({ ctx, input }) => listDeliveries(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  attempts: accountProcedure.input(one).query(async ({ ctx, input }) => ({
    items: await readAttempts(ctx.services, { ownerId: ctx.caller.userId, ...input }),
  })),
  redeliver: accountProcedure.input(one).mutation(async ({ ctx, input }) => {
    await redeliver(ctx.services, { ownerId: ctx.caller.userId, ...input });
    return input;
  }),
});

export const notificationsRouter = t.router({
  /** Channels that the studio offers, as the caller has set them. */
  list: accountProcedure.query(async ({ ctx }) => ({
    items: await readNotifications(ctx.services, ctx.caller.userId),
  })),
  requestEmailCode: accountProcedure.mutation(({ ctx }) => requestEmailCode(ctx.services, ctx.caller.userId)),
  confirmEmail: accountProcedure
    .input(z.strictObject({ code: z.string().trim().max(20) }))
    .mutation(async ({ ctx, input }) => {
      await confirmEmail(ctx.services, { ownerId: ctx.caller.userId, code: input.code });
      return { isOn: true };
    }),
  set: accountProcedure
    .input(z.strictObject({ channel: z.enum(["email", "telegram"]), isOn: z.boolean() }))
    .mutation(async ({ ctx, input }) => {
      await setNotification(ctx.services, { ownerId: ctx.caller.userId, ...input });
      return input;
    }),
});

export const adminDeliveriesRouter = t.router({
  search: adminProcedure
    .input(searchDeliveriesSchema.prefault({}))
    .query(({ ctx, input }) => searchDeliveries(ctx.services, input)),
  attempts: adminProcedure.input(one).query(async ({ ctx, input }) => ({
    items: await readAttempts(ctx.services, { id: input.id, ownerId: null }),
  })),
  redeliver: adminAction.input(one).mutation(async ({ ctx, input }) => {
    await redeliver(ctx.services, { id: input.id, ownerId: null });
    return input;
  }),
});

/** The chat at Telegram that the caller's account is linked to. */
export const telegramRouter = t.router({
  state: accountProcedure.query(({ ctx }) => readTelegramState(ctx.services, ctx.caller.userId)),
  /** A deep link that links the chat which opens it, once. */
  createLink: grantProcedure.mutation(({ ctx }) => createLink(ctx.services, ctx.caller.userId, ctx.caller)),
  unlink: accountProcedure.mutation(async ({ ctx }) => ({
    wasLinked: await unlink(ctx.services, ctx.caller.userId),
  })),
});

import { z } from "zod";
import { recordAct } from "../../audit/index.ts";
import { cloudPolicies } from "../../db/index.ts";
import { readJobAttempts } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import {
  enableProvider,
  orderChain,
  providerNames,
  readCaps,
  readOwnCaps,
  readChainViews,
  readProviders,
  readSpend,
  readSpendLines,
  setCaps,
} from "../../providers/index.ts";
import { liveKeys, readUserPolicy, setUserPolicy } from "../../scheduling/index.ts";
import { t } from "./init.ts";
import { adminAction, adminProcedure, memberProcedure, recordedAdminAction } from "./procedures.ts";

const provider = z.enum(providerNames);
const usd = z.number().min(0).max(1_000_000).nullable();

/** When providers are used for the caller's jobs, and what that costs. */
export const cloudRouter = t.router({
  /** The user's policy (null: the studio's), and the studio's. */
  policy: memberProcedure.query(async ({ ctx }) => ({
    own: await readUserPolicy(ctx.services.db, ctx.caller.userId),
    studio: ctx.services.config.cloud.policy,
  })),
  setPolicy: memberProcedure
    .input(z.strictObject({ policy: z.enum(cloudPolicies).nullable() }))
    .mutation(async ({ ctx, input }) => {
      if (ctx.caller.isGuest) throw new AppError("forbidden");
      await setUserPolicy(ctx.services.db, ctx.caller.userId, input.policy);
      return { own: input.policy };
    }),
  /** Own spend and caps, US dollars. */
  spend: memberProcedure.query(async ({ ctx }) => {
    const { db, config } = ctx.services;
    const { userId } = ctx.caller;
    const [spend, caps] = await Promise.all([readSpend(db, config, userId), readCaps(db, config, userId)]);
    return { ...spend, ...caps };
  }),
  /** The requests to providers for an own job. */
  attempts: memberProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx, input }) => ({
    items: await readJobAttempts(ctx.services, { ownerId: ctx.caller.userId, id: input.id }),
  })),
});

export const adminCloudRouter = t.router({
  providers: adminProcedure.query(async ({ ctx }) => {
    const { services } = ctx;
    const held = await liveKeys(services.db);
    const [items, chains] = await Promise.all([readProviders(services, held), readChainViews(services)]);
    return {
      items,
      chains,
      spend: await readSpend(services.db, services.config, null),
      caps: services.config.cloud.caps,
    };
  }),
  spend: adminProcedure.query(async ({ ctx }) => ({ items: await readSpendLines(ctx.services) })),
  enable: adminAction
    .input(z.strictObject({ provider, isEnabled: z.boolean() }))
    .mutation(async ({ ctx, input }) => {
      await enableProvider(ctx.services.db, input.provider, input.isEnabled);
      return input;
    }),
  order: adminAction
    .input(z.strictObject({ model: z.string().max(100), providers: z.array(provider).max(20) }))
    .mutation(async ({ ctx, input }) => {
      await orderChain(ctx.services.db, input.model, input.providers);
      return input;
    }),
  /** The spend of a user, the caps that count, and those that an admin gave. */
  caps: adminProcedure
    .input(z.strictObject({ id: z.string().max(64) }))
    .query(async ({ ctx, input: { id } }) => {
      const { db, config } = ctx.services;
      const [spend, caps, own] = await Promise.all([
        readSpend(db, config, id),
        readCaps(db, config, id),
        readOwnCaps(db, id),
      ]);
      return { ...spend, ...caps, own };
    }),
  setCaps: recordedAdminAction
    .input(z.strictObject({ id: z.string().max(64), dailyUsd: usd, monthlyUsd: usd }))
    .mutation(async ({ ctx, input }) => {
      const { id, ...caps } = input;
      await ctx.services.db.transaction(async (tx) => {
        await setCaps(tx, id, caps);
        await recordAct(tx, { kind: "user.spending_set", by: ctx.caller.userId, to: id, details: caps });
      });
      return input;
    }),
});

import { z } from "zod";
import {
  createInvitation,
  createResetLink,
  invitationDays,
  listInvitations,
  readAdminFactor,
  revokeInvitation,
  setAdminFactor,
} from "../../accounts/index.ts";
import { searchAudit, searchAuditSchema } from "../../audit/index.ts";
import { checkUp, readCheckup } from "../../doctor/index.ts";
import {
  cancelAny,
  dispatch,
  readAnyStory,
  rering,
  retryAny,
  searchJobs,
  searchJobsSchema,
  setTier,
} from "../../jobs/index.ts";
import {
  listUsersSchema,
  readNodes,
  readOverview,
  readUser,
  readUsers,
  windowNames,
} from "../../monitoring/index.ts";
import {
  changeNodeSettings,
  drainNode,
  drainServer,
  nodeSettingsSchema,
  resumeNode,
  resumeServer,
  requestStop,
} from "../../nodes/index.ts";
import { lineOfText } from "../../platform/index.ts";
import { decideLicence, workflowFacts } from "../../scheduling/index.ts";
import {
  deleteUser,
  maxQuotaBytes,
  resetFactors,
  setQuota,
  setRole,
  suspend,
  unsuspend,
} from "../../users/index.ts";
import { adminAssistantRouter } from "./assistant.ts";
import { adminCloudRouter } from "./cloud.ts";
import { adminDeliveriesRouter } from "./deliveries.ts";
import { t } from "./init.ts";
import { adminAction, adminProcedure, recordedAdminAction } from "./procedures.ts";

const days = z.number().int().min(invitationDays.min).max(invitationDays.max).default(invitationDays.default);

const adminInvitationsRouter = t.router({
  /** Open invitations, and whether sign-up takes them. */
  list: adminProcedure.query(async ({ ctx }) => ({
    signUp: ctx.services.env.SIGN_UP,
    items: await listInvitations(ctx.services),
  })),
  /** The answer's `token` is shown this once. */
  create: recordedAdminAction
    .input(z.strictObject({ days }))
    .mutation(({ ctx, input }) =>
      createInvitation(ctx.services, { createdBy: ctx.caller.userId, days: input.days }),
    ),
  revoke: recordedAdminAction.input(z.strictObject({ id: z.uuid() })).mutation(async ({ ctx, input }) => {
    await revokeInvitation(ctx.services, { id: input.id, adminId: ctx.caller.userId });
    return { id: input.id };
  }),
});

const oneJob = z.strictObject({ id: z.string().max(64) });

const adminJobsRouter = t.router({
  search: adminProcedure.input(searchJobsSchema).query(({ ctx, input }) => searchJobs(ctx.services, input)),
  story: adminProcedure.input(oneJob).query(({ ctx, input }) => readAnyStory(ctx.services, input)),
  cancel: adminAction.input(oneJob).mutation(({ ctx, input }) => cancelAny(ctx.services, input)),
  retry: adminAction.input(oneJob).mutation(({ ctx, input }) => retryAny(ctx.services, input)),
  setTier: adminAction
    .input(oneJob.extend({ tier: z.enum(["low", "normal", "high", "urgent"]) }))
    .mutation(async ({ ctx, input }) => {
      await setTier(ctx.services, input);
      return input;
    }),
});

const oneNode = z.strictObject({ id: z.uuid() });
const server = z.strictObject({ url: z.string().min(1).max(2_000) });

const adminNodesRouter = t.router({
  list: adminProcedure.query(async ({ ctx }) => ({ items: await readNodes(ctx.services) })),
  drain: adminAction.input(oneNode).mutation(({ ctx, input }) => drainNode(ctx.services, input)),
  resume: adminAction.input(oneNode).mutation(async ({ ctx, input }) => {
    const { queues } = await resumeNode(ctx.services, input);
    for (const queue of queues) await dispatch(ctx.services, queue);
    await rering(ctx.services, 0);
    return { state: "active" as const };
  }),
  retire: adminAction.input(oneNode).mutation(async ({ ctx, input }) => {
    await requestStop(ctx.services, input);
    return input;
  }),
  changeSettings: adminAction
    .input(oneNode.extend({ settings: nodeSettingsSchema }))
    .mutation(async ({ ctx, input }) => {
      await changeNodeSettings(ctx.services, input);
      return { id: input.id };
    }),
  drainServer: adminAction.input(server).mutation(async ({ ctx, input }) => {
    await drainServer(ctx.services, { ...input, adminId: ctx.caller.userId });
    return input;
  }),
  resumeServer: adminAction.input(server).mutation(async ({ ctx, input }) => {
    await resumeServer(ctx.services, input);
    return input;
  }),
});

/** What the workflows need, and which licences the studio accepts. */
const adminWorkflowsRouter = t.router({
  list: adminProcedure.query(async ({ ctx }) => ({
    items: await workflowFacts(ctx.services.db, ctx.services.config),
  })),
  decideLicence: adminAction
    .input(z.strictObject({ name: lineOfText.max(80), isAccepted: z.boolean() }))
    .mutation(async ({ ctx, input }) => {
      await decideLicence(ctx.services.db, input);
      ctx.services.log.info({ ...input, adminId: ctx.caller.userId }, "licence decided");
      return input;
    }),
});

/** What is connected, tried on demand; the findings hold no secret. */
const adminCheckupRouter = t.router({
  read: adminProcedure.query(({ ctx }) => readCheckup(ctx.services)),
  run: adminAction.mutation(({ ctx }) => checkUp(ctx.services)),
});

const oneUser = z.strictObject({ id: lineOfText.max(64) });

/** What admins see of users and may do to them; each act is logged. */
const adminUsersRouter = t.router({
  list: adminProcedure.input(listUsersSchema).query(({ ctx, input }) => readUsers(ctx.services, input)),
  get: adminProcedure.input(oneUser).query(({ ctx, input }) => readUser(ctx.services, input)),
  suspend: recordedAdminAction
    .input(oneUser)
    .mutation(({ ctx, input }) => suspend(ctx.services, { userId: input.id, adminId: ctx.caller.userId })),
  /** For a user who lost the phone: the password alone signs in again. */
  resetFactors: recordedAdminAction.input(oneUser).mutation(async ({ ctx, input }) => {
    await resetFactors(ctx.services, { userId: input.id, adminId: ctx.caller.userId });
    return input;
  }),
  unsuspend: recordedAdminAction.input(oneUser).mutation(async ({ ctx, input }) => {
    await unsuspend(ctx.services, { userId: input.id, adminId: ctx.caller.userId });
    return input;
  }),
  /** Whether admins need a second factor. */
  readFactorRule: adminProcedure.query(({ ctx }) => readAdminFactor(ctx.services)),
  setFactorRule: recordedAdminAction
    .input(z.strictObject({ isNeeded: z.boolean() }))
    .mutation(async ({ ctx, input }) => {
      const { userId: adminId, sessionId } = ctx.caller;
      await setAdminFactor(ctx.services, { ...input, adminId, sessionId });
      return input;
    }),
  /** Null is the studio's default. */
  setQuota: recordedAdminAction
    .input(oneUser.extend({ quotaBytes: z.int().min(0).max(maxQuotaBytes).nullable() }))
    .mutation(async ({ ctx, input }) => {
      const { id: userId, quotaBytes } = input;
      await setQuota(ctx.services, { userId, adminId: ctx.caller.userId, quotaBytes });
      return input;
    }),
  setRole: recordedAdminAction
    .input(oneUser.extend({ role: z.enum(["admin", "user"]) }))
    .mutation(async ({ ctx, input }) => {
      await setRole(ctx.services, { userId: input.id, adminId: ctx.caller.userId, role: input.role });
      return input;
    }),
  /** The answer's `token` is shown this once. */
  createResetLink: recordedAdminAction
    .input(oneUser)
    .mutation(({ ctx, input }) =>
      createResetLink(ctx.services, { userId: input.id, adminId: ctx.caller.userId }),
    ),
  /** `confirm` is the user's e-mail address, for a guest the word "delete". */
  remove: recordedAdminAction
    .input(oneUser.extend({ confirm: z.string().max(300) }))
    .mutation(({ ctx, input }) => {
      const { id: userId, confirm } = input;
      return deleteUser(ctx.services, { userId, adminId: ctx.caller.userId, confirm });
    }),
});

/** The audit log, which is exported by the HTTP API. */
const adminAuditRouter = t.router({
  search: adminProcedure.input(searchAuditSchema).query(({ ctx, input }) => searchAudit(ctx.services, input)),
});

/** Procedures for admins only. */
export const adminRouter = t.router({
  overview: adminProcedure
    .input(z.strictObject({ window: z.enum(windowNames).default("1h") }).prefault({}))
    .query(({ ctx, input }) => readOverview(ctx.services, input)),
  audit: adminAuditRouter,
  checkup: adminCheckupRouter,
  users: adminUsersRouter,
  assistant: adminAssistantRouter,
  cloud: adminCloudRouter,
  invitations: adminInvitationsRouter,
  nodes: adminNodesRouter,
  workflows: adminWorkflowsRouter,
  jobs: adminJobsRouter,
  deliveries: adminDeliveriesRouter,
});

import { z } from "zod";
import { listUsersSchema, readOverview, readUsers, windowNames } from "../../../../monitoring/index.ts";
import { t } from "../../init.ts";
import { adminProcedure } from "../../procedures.ts";
import { adminInvitationsRouter } from "./invitations.ts";
import { adminJobsRouter } from "./jobs.ts";
import { adminNodesRouter } from "../../admin.ts";

/** What admins see and do; nobody else reaches any of it. */
export const adminRouter = t.router({
  overview: adminProcedure
    .input(z.strictObject({ window: z.enum(windowNames).default("1h") }).prefault({}))
    .query(({ ctx, input }) => readOverview(ctx.services, input)),
  users: adminProcedure.input(listUsersSchema).query(({ ctx, input }) => readUsers(ctx.services, input)),
  invitations: adminInvitationsRouter,
  nodes: adminNodesRouter,
  jobs: adminJobsRouter,
});

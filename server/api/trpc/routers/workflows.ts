import { offeredWorkflows } from "../../../scheduling/index.ts";
import { t } from "../init.ts";
import { publicProcedure } from "../procedures.ts";

export const workflowsRouter = t.router({
  /** What can be chosen, those that can run now first; the same for everybody. */
  list: publicProcedure.query(async ({ ctx }) => ({ items: await offeredWorkflows(ctx.services.db) })),
});

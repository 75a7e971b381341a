import { offeredWorkflows } from "../../../scheduling/index.ts";
import { t } from "../init.ts";
import { publicProcedure } from "../procedures.ts";

export const workflowsRouter = t.router({
  /** What can be chosen, those that can run now first. What the servers lack is told to those with a session alone. */
  list: publicProcedure.query(async ({ ctx }) => {
    const items = await offeredWorkflows(ctx.services.db);
    return { items: ctx.caller ? items : items.map((workflow) => ({ ...workflow, missing: [] })) };
  }),
});

import { getAccount } from "../../../accounts/index.ts";
import { readUsage } from "../../../images/index.ts";
import { t } from "../init.ts";
import { memberProcedure, publicProcedure } from "../procedures.ts";

export const accountRouter = t.router({
  /** Null without a session. */
  me: publicProcedure.query(({ ctx }) => (ctx.caller ? getAccount(ctx.services, ctx.caller) : null)),
  /** The space that the caller's pictures take up, and how much they may. */
  usage: memberProcedure.query(({ ctx }) => readUsage(ctx.services, ctx.caller.userId)),
});

import { getAccount } from "../../../accounts/index.ts";
import { t } from "../init.ts";
import { publicProcedure } from "../procedures.ts";

export const accountRouter = t.router({
  /** Null without a session. */
  me: publicProcedure.query(({ ctx }) => (ctx.caller ? getAccount(ctx.services, ctx.caller) : null)),
});

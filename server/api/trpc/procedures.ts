import { AppError } from "../../platform/index.ts";
import { assertSameOrigin } from "../same-origin.ts";
import { t } from "./init.ts";
import { report } from "./report.ts";

/** Anybody, also without a session; `ctx.caller` may be null. */
export const publicProcedure = t.procedure.use(report).use(async ({ ctx, type, next }) => {
  const caller = await ctx.findCaller();
  if (type === "mutation" && caller?.via !== "api_key") assertSameOrigin(ctx.services.env, ctx.request);
  return next({ ctx: { caller } });
});

/** Any session, also a guest's, or an API key. */
export const memberProcedure = publicProcedure.use(({ ctx, next }) => {
  if (!ctx.caller) throw new AppError("unauthorized");
  return next({ ctx: { caller: ctx.caller } });
});

import { AppError } from "../../platform/index.ts";
import { admitWrite } from "../same-origin.ts";
import { appErrorOf } from "./error-mapping.ts";
import { t } from "./init.ts";
import { report } from "./report.ts";

/** Anybody, also without a session; `ctx.caller` may be null. */
export const publicProcedure = t.procedure.use(report).use(async ({ ctx, type, next }) => {
  const caller = await ctx.findCaller();
  if (type === "mutation") await admitWrite(ctx.services, ctx.request, caller);
  return next({ ctx: { caller } });
});

/** Any session, also a guest's, or an API key. */
export const memberProcedure = publicProcedure.use(({ ctx, next }) => {
  if (!ctx.caller) throw new AppError("unauthorized");
  return next({ ctx: { caller: ctx.caller } });
});

/** An admin's session or API key; anybody else is refused with `forbidden`. */
export const adminProcedure = memberProcedure.use(({ ctx, next }) => {
  if (!ctx.caller.isAdmin) throw new AppError("forbidden");
  return next();
});

/** What an admin does to others' things: each leaves a line with who did what, also when it was refused. */
export const adminAction = adminProcedure.use(async ({ ctx, path, getRawInput, next }) => {
  const result = await next();
  const code = result.ok ? "ok" : appErrorOf(result.error).code;
  const fields = { audit: true, adminId: ctx.caller.userId, action: path, input: await getRawInput(), code };
  ctx.services.log.info(fields, "admin action");
  return result;
});

import { z } from "zod";
import { createApiKey, listApiKeys, maxKeyNameLength, revokeApiKey } from "../../../accounts/index.ts";
import { AppError, lineOfText } from "../../../platform/index.ts";
import { t } from "../init.ts";
import { memberProcedure } from "../procedures.ts";

/** Keys are for accounts: a guest would lose theirs with the cookie, and a key must not make further keys. */
const accountProcedure = memberProcedure.use(({ ctx, next }) => {
  if (ctx.caller.isGuest) throw new AppError("forbidden", "Make an account first; guests have no API keys.");
  if (ctx.caller.via !== "session") throw new AppError("forbidden", "API keys are managed in the browser.");
  return next();
});

export const apiKeysRouter = t.router({
  list: accountProcedure.query(async ({ ctx }) => ({
    items: await listApiKeys(ctx.services, { userId: ctx.caller.userId }),
  })),
  /** The answer's `key` is shown this once. */
  create: accountProcedure
    .input(z.strictObject({ name: lineOfText.trim().min(1).max(maxKeyNameLength) }))
    .mutation(({ ctx, input }) =>
      createApiKey(ctx.services, { userId: ctx.caller.userId, name: input.name }),
    ),
  revoke: accountProcedure.input(z.strictObject({ id: lineOfText })).mutation(async ({ ctx, input }) => {
    await revokeApiKey(ctx.services, { userId: ctx.caller.userId, id: input.id });
    return { id: input.id };
  }),
});

import { t } from "./init.ts";
import { accountRouter } from "./routers/account.ts";
import { apiKeysRouter } from "./routers/api-keys.ts";

export const appRouter = t.router({
  account: accountRouter,
  apiKeys: apiKeysRouter,
});

export type AppRouter = typeof appRouter;

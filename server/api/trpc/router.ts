import { t } from "./init.ts";
import { accountRouter } from "./routers/account.ts";
import { adminRouter } from "./routers/admin/index.ts";
import { apiKeysRouter } from "./routers/api-keys.ts";
import { imagesRouter } from "./library.ts";
import { jobsRouter } from "./jobs.ts";
import { workflowsRouter } from "./routers/workflows.ts";

export const appRouter = t.router({
  account: accountRouter,
  admin: adminRouter,
  apiKeys: apiKeysRouter,
  images: imagesRouter,
  jobs: jobsRouter,
  workflows: workflowsRouter,
});

export type AppRouter = typeof appRouter;

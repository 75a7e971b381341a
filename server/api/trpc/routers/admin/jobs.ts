import { z } from "zod";
import {
  cancelAny,
  readAnyStory,
  retryAny,
  searchJobs,
  searchJobsSchema,
  setTier,
} from "../../../../jobs/index.ts";
import { t } from "../../init.ts";
import { adminAction, adminProcedure } from "../../procedures.ts";

const oneJob = z.strictObject({ id: z.string().max(64) });

export const adminJobsRouter = t.router({
  search: adminProcedure.input(searchJobsSchema).query(({ ctx, input }) => searchJobs(ctx.services, input)),
  story: adminProcedure.input(oneJob).query(({ ctx, input }) => readAnyStory(ctx.services, input)),
  cancel: adminAction.input(oneJob).mutation(({ ctx, input }) => cancelAny(ctx.services, input)),
  retry: adminAction.input(oneJob).mutation(({ ctx, input }) => retryAny(ctx.services, input)),
  setTier: adminAction
    .input(oneJob.extend({ tier: z.enum(["low", "normal", "high", "urgent"]) }))
    .mutation(async ({ ctx, input }) => {
      await setTier(ctx.services, input);
      return input;
    }),
});

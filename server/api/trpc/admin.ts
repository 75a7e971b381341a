import { z } from "zod";
import { dispatch, rering } from "../../jobs/index.ts";
import { readNodes } from "../../monitoring/index.ts";
import {
  changeNodeSettings,
  drainNode,
  drainServer,
  nodeSettingsSchema,
  resumeNode,
  resumeServer,
  retireNode,
} from "../../nodes/index.ts";
import { t } from "./init.ts";
import { adminAction, adminProcedure } from "./procedures.ts";

const oneNode = z.strictObject({ id: z.uuid() });
const server = z.strictObject({ url: z.string().min(1).max(2_000) });

export const adminNodesRouter = t.router({
  list: adminProcedure.query(async ({ ctx }) => ({ items: await readNodes(ctx.services) })),
  drain: adminAction.input(oneNode).mutation(({ ctx, input }) => drainNode(ctx.services, input)),
  resume: adminAction.input(oneNode).mutation(async ({ ctx, input }) => {
    const { queues } = await resumeNode(ctx.services, input);
    for (const queue of queues) await dispatch(ctx.services, queue);
    await rering(ctx.services, 0);
    return { state: "active" as const };
  }),
  retire: adminAction.input(oneNode).mutation(async ({ ctx, input }) => {
    await retireNode(ctx.services, input);
    return input;
  }),
  changeSettings: adminAction
    .input(oneNode.extend({ settings: nodeSettingsSchema }))
    .mutation(async ({ ctx, input }) => {
      await changeNodeSettings(ctx.services, input);
      return { id: input.id };
    }),
  drainServer: adminAction.input(server).mutation(async ({ ctx, input }) => {
    await drainServer(ctx.services, { ...input, adminId: ctx.caller.userId });
    return input;
  }),
  resumeServer: adminAction.input(server).mutation(async ({ ctx, input }) => {
    await resumeServer(ctx.services, input);
    return input;
  }),
});

import { z } from "zod";
import { jobKinds } from "../../../engines/index.ts";
import { offeredWorkflows } from "../../../scheduling/index.ts";
import { defineRoute } from "../route.ts";

const workflowSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  kind: z.enum(jobKinds),
  vramGib: z.number(),
  isLive: z.boolean(),
  missing: z
    .array(z.string())
    .describe("What the server lacks that is nearest to running it; empty when it is live."),
  params: z.record(z.string(), z.unknown()),
  inputs: z.array(z.object({ role: z.string(), required: z.boolean() })),
});

export const listWorkflows = defineRoute({
  method: "get",
  path: "/workflows",
  operationId: "listWorkflows",
  summary: "List the workflows that a job may name, those that can run now first",
  tag: "jobs",
  responses: {
    200: { description: "All of them.", schema: z.object({ items: z.array(workflowSchema) }) },
  },
  async handle({ services }) {
    const offered = await offeredWorkflows(services.db);
    // Parsed, so that what is not declared is not sent.
    return Response.json({ items: offered.map((workflow) => workflowSchema.parse(workflow)) });
  },
});

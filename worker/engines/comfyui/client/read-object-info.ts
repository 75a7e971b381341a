import { z } from "zod";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

const inputs = z.record(z.string(), z.unknown());

const nodeInfo = z.object({
  input: z.object({ required: inputs.optional(), optional: inputs.optional() }),
  output: z.array(z.unknown()).default([]),
  output_node: z.boolean().default(false),
});

/** What a node class takes and gives. An input is `[type or choices, options]`, its choices in either place. */
export type NodeInfo = z.infer<typeof nodeInfo>;

const objectInfoSchema = z.record(z.string(), z.unknown());

/** A class of the server; null when it does not have it. */
export async function readObjectInfo(
  server: ComfyServer,
  nodeClass: string,
  options: CallOptions,
): Promise<NodeInfo | null> {
  const path = `object_info/${encodeURIComponent(nodeClass)}`;
  const classes = jsonOf(await ask(server, { path }, options), objectInfoSchema);
  const parsed = nodeInfo.safeParse(classes[nodeClass]);
  return parsed.success ? parsed.data : null;
}

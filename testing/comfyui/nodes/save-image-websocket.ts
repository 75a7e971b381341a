import { encodePng } from "../pictures/codec.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";

/** SaveImageWebsocket: whole PNGs as binary frames; nothing touches the disk. */
export async function saveImageWebsocket(call: NodeCall): Promise<NodeResult> {
  const frames = call.inputs.image("images");
  for (const [index, frame] of frames.entries()) {
    await call.progress(index, frames.length, { format: "png", bytes: await encodePng(frame) });
  }
  return { values: [] };
}

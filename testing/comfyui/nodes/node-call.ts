import type { JsonObject } from "../json.ts";
import type { Frame } from "../pictures.ts";
import type { Comfy } from "../server/comfy.ts";
import type { QueueItem } from "../server/session.ts";
import type { Preview } from "../socket/preview-frame.ts";
import type { Inputs } from "./call.ts";
import type { Value } from "./value.ts";

/** One node that is being executed. */
export interface NodeCall {
  readonly comfy: Comfy;
  readonly item: QueueItem;
  readonly nodeId: string;
  readonly classType: string;
  /** Hash of the class and all that goes in: same signature, same result. */
  readonly signature: string;
  readonly inputs: Inputs;
  readonly arePreviewsOn: boolean;
  /** Waits one sampler step of time; hangs and cuts sockets when a fault says so. */
  step(): Promise<void>;
  /** Tells the client; throws Interrupted when the prompt was interrupted. */
  progress(value: number, max: number, preview?: Preview): Promise<void>;
  /** Shows a text below the node. */
  say(text: string): void;
}

export interface NodeResult {
  readonly values: readonly Value[];
  /** What `executed` shows; only output nodes have it. */
  readonly ui?: JsonObject;
}

export type NodeRunner = (call: NodeCall) => Promise<NodeResult> | NodeResult;

/** A node whose one result is a picture made frame by frame from its input "image". */
export function perFrame(change: (frame: Frame, call: NodeCall) => Promise<Frame> | Frame): NodeRunner {
  return async (call) => {
    const frames: Frame[] = [];
    for (const frame of call.inputs.image("image")) frames.push(await change(frame, call));
    return { values: [{ kind: "image", frames }] };
  };
}

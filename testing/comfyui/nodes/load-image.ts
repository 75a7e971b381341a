import { channelOf, mapBytes, solidFrame, toRgb, type Frame } from "../pictures.ts";
import { decode } from "../pictures/codec.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { NodeFailure } from "./node-error.ts";
import { image, mask } from "./value.ts";

/** LoadImage: the picture without alpha, and a mask that is 1 where it was transparent. */
export async function loadImage(call: NodeCall): Promise<NodeResult> {
  const frame = await readPicture(call);
  return { values: [image([toRgb(frame)]), mask([alphaMask(frame)])] };
}

/** LoadImageMask: one channel; alpha is inverted, colours are not. */
export async function loadImageMask(call: NodeCall): Promise<NodeResult> {
  const frame = await readPicture(call);
  const channel = ["red", "green", "blue"].indexOf(call.inputs.text("channel"));
  const { widthPx, heightPx, channels } = frame;
  const alpha = channels === 4 ? alphaMask(frame) : solidFrame(widthPx, heightPx, [0]);
  const found = channel < 0 ? alpha : channelOf(toRgb(frame), channel);
  return { values: [mask([found])] };
}

async function readPicture(call: NodeCall): Promise<Frame> {
  const text = call.inputs.text("image");
  const { files } = call.comfy;
  if (text === "")
    throw new NodeFailure("IsADirectoryError", "[Errno 21] Is a directory: '/opt/comfyui/input/'");
  const file = files.findAnnotated(text);
  const bytes = file && files.read(file);
  if (!bytes) throw new NodeFailure("FileNotFoundError", `[Errno 2] No such file or directory: '${text}'`);
  try {
    return await decode(bytes);
  } catch {
    const message = `cannot identify image file '/opt/comfyui/input/${text}'`;
    throw new NodeFailure("PIL.UnidentifiedImageError", message);
  }
}

const emptyMaskPx = 64;

function alphaMask(frame: Frame): Frame {
  if (frame.channels !== 4) return solidFrame(emptyMaskPx, emptyMaskPx, [0]);
  return mapBytes(channelOf(frame, 3), (alpha) => 255 - alpha);
}

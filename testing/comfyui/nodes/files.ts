import path from "node:path";
import sharp from "sharp";
import type { Place } from "../files.ts";
import { objectOf } from "../options.ts";
import {
  addPngText,
  channelOf,
  decode,
  encodePng,
  type Frame,
  mapBytes,
  solidFrame,
  toRgb,
} from "../pictures.ts";
import { diskFull, image, mask, type NodeCall, NodeFailure, type NodeResult } from "./call.ts";

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

/** SaveImageWebsocket: whole PNGs as binary frames; nothing touches the disk. */
export async function saveImageWebsocket(call: NodeCall): Promise<NodeResult> {
  const frames = call.inputs.image("images");
  for (const [index, frame] of frames.entries()) {
    await call.progress(index, frames.length, { format: "png", bytes: await encodePng(frame) });
  }
  return { values: [] };
}

/** PreviewAny: shows what arrives as text. */
export function previewAny({ inputs }: NodeCall): NodeResult {
  const source = inputs.optional("source");
  if (!source) return { values: [], ui: { text: [inputs.text("source")] } };
  const text = source.kind === "number" ? String(source.value) : `tensor of ${source.kind}`;
  return { values: [], ui: { text: [text] } };
}

/** Splits a filename prefix into subfolder and stem; %width%, %height% and parts of the date expand. */
function expandPrefix(prefix: string, first: Frame | undefined): { subfolder: string; stem: string } {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, "0");
  const words: Record<string, string> = {
    width: String(first?.widthPx ?? 0),
    height: String(first?.heightPx ?? 0),
    year: String(now.getFullYear()),
    month: two(now.getMonth() + 1),
    day: two(now.getDate()),
    hour: two(now.getHours()),
    minute: two(now.getMinutes()),
    second: two(now.getSeconds()),
  };
  const text = prefix.replaceAll(/%(\w+)%/g, (whole, word: string) => words[word] ?? whole);
  const folder = path.posix.dirname(path.posix.normalize(text));
  // No prefix at all is the folder's own name.
  const stem = text === "" ? "." : path.posix.basename(text);
  return { subfolder: folder === "." ? "" : folder, stem };
}

/** SaveImage: PNG files `<prefix>_00001_.png` that carry the prompt. */
export function saveImage(call: NodeCall): Promise<NodeResult> {
  return save(call, "output", call.inputs.text("filename_prefix"));
}

/** PreviewImage: the same in the temp folder. */
export function previewImage(call: NodeCall): Promise<NodeResult> {
  return save(call, "temp", tempPrefix(call));
}

/** MaskPreview: the mask as a grey picture in the temp folder. */
export async function maskPreview(call: NodeCall): Promise<NodeResult> {
  const frames = call.inputs.mask("mask").map(toRgb);
  const { values, ui } = await saveFrames(call, frames, { place: "temp", prefix: tempPrefix(call) });
  return { values, ui: { ...ui, animated: [false] } };
}

function tempPrefix({ comfy: { session }, nodeId, classType }: NodeCall): string {
  const kept = session.tempLetters.get(nodeId);
  const letters = kept?.letters ?? Array.from({ length: 5 }, drawLetter).join("");
  session.tempLetters.set(nodeId, { classType, letters });
  return `ComfyUI_temp_${letters}`;
}

function drawLetter(): string {
  return String.fromCharCode(97 + Math.trunc(Math.random() * 26));
}

function save(call: NodeCall, place: Place, prefix: string): Promise<NodeResult> {
  return saveFrames(call, call.inputs.image("images"), { place, prefix });
}

async function saveFrames(
  call: NodeCall,
  frames: readonly Frame[],
  { place, prefix }: { place: Place; prefix: string },
): Promise<NodeResult> {
  const { files, faults } = call.comfy;
  const [first] = frames;
  refuseOutside(prefix, place);
  const { subfolder, stem } = expandPrefix(prefix, first);
  const images = [];
  let count = lastCount(files.names(place, subfolder), stem);
  for (const frame of frames) {
    count += 1;
    const extension = faults.take("other-files")?.extension ?? "png";
    const name = `${stem}_${String(count).padStart(5, "0")}_.${extension}`;
    if (faults.take("disk-full")) throw diskFull(`/opt/comfyui/${place}/${subfolder}/${name}`);
    const bytes = await encodeAs(extension, addPngText(await encodePng(frame), metadataOf(call)));
    files.write({ place, subfolder, name }, bytes);
    const named = faults.take("outside-files") ? "../renders" : subfolder;
    images.push({ filename: name, subfolder: named, type: place });
  }
  if (!faults.take("more-files")) return { values: [], ui: { images } };
  const beside = ["mp4", "json"].map((ending) => ({ filename: `${stem}.${ending}`, subfolder, type: place }));
  return { values: [], ui: { images: [images], a_images: images, gifs: beside, file: beside[1] } };
}

/** Of kinds that are pictures the file is one; others are named so. */
async function encodeAs(extension: string, png: Buffer): Promise<Buffer> {
  if (extension !== "avif" && extension !== "tiff") return png;
  return sharp(png).toFormat(extension, { lossless: true }).toBuffer();
}

function refuseOutside(prefix: string, place: Place): void {
  const top = `/opt/comfyui/${place}`;
  const folder = path.posix.dirname(path.posix.resolve(top, `${prefix}_`));
  if (folder === top || folder.startsWith(`${top}/`)) return;
  const lines = [
    "**** ERROR: Saving image outside the output folder is not allowed.",
    ` full_output_folder: ${folder}`,
    `         output_dir: ${top}`,
    "         commonpath: /opt",
  ];
  throw new NodeFailure("Exception", lines.join("\n"));
}

function lastCount(names: readonly string[], stem: string): number {
  const counts = names
    .filter((name) => name.startsWith(`${stem}_`))
    .map((name) => Number(/^(\d+)_/.exec(name.slice(stem.length + 1))?.[1] ?? 0));
  return Math.max(0, ...counts);
}

function metadataOf({ item }: NodeCall): Record<string, string> {
  const texts: Record<string, string> = { prompt: JSON.stringify(item.graph) };
  for (const [key, value] of Object.entries(objectOf(item.extraData.extra_pnginfo))) {
    texts[key] = JSON.stringify(value);
  }
  return texts;
}

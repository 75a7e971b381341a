import path from "node:path";
import type { Place } from "../files.ts";
import { objectOf } from "../json.ts";
import { encodePng } from "../pictures/codec.ts";
import { toRgb, type Frame } from "../pictures.ts";
import { addPngText } from "../pictures/png-text.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { diskFull, NodeFailure } from "./node-error.ts";
import { expandPrefix } from "./expand-prefix.ts";

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
    const name = `${stem}_${String(count).padStart(5, "0")}_.png`;
    if (faults.take("disk-full")) throw diskFull(`/opt/comfyui/${place}/${subfolder}/${name}`);
    const bytes = addPngText(await encodePng(frame), metadataOf(call));
    files.write({ place, subfolder, name }, bytes);
    images.push({ filename: name, subfolder, type: place });
  }
  return { values: [], ui: { images } };
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

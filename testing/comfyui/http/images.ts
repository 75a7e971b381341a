import path from "node:path";
import { isPlace, type FileName } from "../files.ts";
import { isObject } from "../json.ts";
import { decode, encodePng } from "../pictures/codec.ts";
import type { Frame } from "../pictures.ts";
import { resize } from "../pictures/resize.ts";
import type { Comfy } from "../server/comfy.ts";
import { empty, json, serverTrouble, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { readForm, type Form } from "./read-form.ts";

/** What is written under the name that was found: the upload itself, or something made of it; null writes nothing. */
type Finish = (upload: Buffer) => Promise<Buffer | null>;

/** POST /upload/image: same name and bytes keep the name, other bytes get "a (1).png". */
export async function uploadImage(call: Call): Promise<Answer> {
  const form = await readForm(call);
  return form ? store(call.comfy, form, async (upload) => upload) : empty(400);
}

/** POST /upload/mask: the colours of `original_ref` with the alpha of the upload. */
export async function uploadMask(call: Call): Promise<Answer> {
  const form = await readForm(call);
  if (!form) return empty(400);
  return store(call.comfy, form, async (upload) => {
    const original = readOriginal(call.comfy, form);
    return original && encodePng(await joinAlpha(await decode(original), await decode(upload)));
  });
}

/** Throws, as the real server does, without a reference that names a file; one that leads nowhere is passed over. */
function readOriginal({ files }: Comfy, { fields }: Form): Buffer | null {
  const reference: unknown = JSON.parse(fields.get("original_ref") ?? "");
  if (!isObject(reference) || typeof reference.filename !== "string") throw new TypeError("no filename");
  const { filename: name, type: place = "output", subfolder = "" } = reference;
  if (typeof place !== "string" || !isPlace(place) || typeof subfolder !== "string") return null;
  return files.read({ place, subfolder, name });
}

async function store(comfy: Comfy, form: Form, finish: Finish): Promise<Answer> {
  const place = form.fields.get("type") ?? "input";
  const { image } = form;
  if (!isPlace(place) || isText(form)) return serverTrouble;
  if (!image) return empty(400);
  const subfolder = form.fields.get("subfolder") ?? "";
  // Absolute names lose their slash on the way in.
  const wanted = { place, subfolder, name: image.name.replace(/^[/\\]+/, "") };
  if (!comfy.files.locate(wanted)) return empty(400);
  if (comfy.faults.take("disk-full") || !comfy.files.hasFolderOf(wanted)) return serverTrouble;
  const isReplacing = ["true", "1"].includes(form.fields.get("overwrite") ?? "");
  const file = isReplacing ? wanted : freeName(comfy, wanted, image.bytes);
  const bytes = await finish(image.bytes);
  if (bytes) comfy.files.write(file, bytes);
  comfy.ledger.counts.uploads += 1;
  return json({ name: file.name, subfolder, type: place });
}

/** A part without a file's name is a text, on which the real server stumbles. */
function isText({ fields, image }: Form): boolean {
  return fields.has("image") || image?.name === "";
}

function freeName(comfy: Comfy, wanted: FileName, bytes: Buffer): FileName {
  const { name: stem, ext } = path.parse(wanted.name);
  let file = wanted;
  for (let count = 1; ; count += 1) {
    const there = comfy.files.read(file);
    if (!there || there.equals(bytes)) return file;
    file = { ...wanted, name: `${stem} (${count})${ext}` };
  }
}

async function joinAlpha(original: Frame, upload: Frame): Promise<Frame> {
  const { widthPx, heightPx, channels } = original;
  const fitted = await resize(upload, original, { method: "bicubic" });
  const data = new Uint8Array(widthPx * heightPx * 4);
  for (let pixel = 0; pixel < widthPx * heightPx; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      data[pixel * 4 + channel] = original.data[pixel * channels + channel] ?? 0;
    }
    data[pixel * 4 + 3] = fitted.channels === 4 ? (fitted.data[pixel * 4 + 3] ?? 0) : 255;
  }
  return { widthPx, heightPx, channels: 4, data };
}

import path from "node:path";
import { isPlace, type FileName } from "../files/open-files.ts";
import { objectOf, parseJson } from "../json.ts";
import { decode, encodePng } from "../pictures/codec.ts";
import type { Frame } from "../pictures/frame.ts";
import { resize } from "../pictures/resize.ts";
import type { Comfy } from "../server/comfy.ts";
import { empty, json, serverTrouble, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { readForm, type Form } from "./read-form.ts";

/** POST /upload/image: same name and bytes keep the name, other bytes get "a (1).png". */
export async function uploadImage(call: Call): Promise<Answer> {
  const form = await readForm(call);
  if (!form) return serverTrouble;
  return store(call.comfy, form, form.image);
}

/** POST /upload/mask: the colours of `original_ref` with the alpha of the upload. */
export async function uploadMask(call: Call): Promise<Answer> {
  const form = await readForm(call);
  if (!form) return serverTrouble;
  const reference = objectOf(parseJson(form.fields.get("original_ref") ?? ""));
  const place = typeof reference.type === "string" && isPlace(reference.type) ? reference.type : "output";
  const subfolder = typeof reference.subfolder === "string" ? reference.subfolder : "";
  const name = typeof reference.filename === "string" ? reference.filename : "";
  const original = name === "" ? null : call.comfy.files.read({ place, subfolder, name });
  if (!original || !form.image) return empty(400);
  const merged = await joinAlpha(await decode(original), await decode(form.image.bytes));
  return store(call.comfy, form, { name: form.image.name, bytes: await encodePng(merged) });
}

function store(comfy: Comfy, form: Form, image: Form["image"]): Answer {
  const place = form.fields.get("type") ?? "input";
  if (!image || image.name === "" || !isPlace(place)) return empty(400);
  const subfolder = form.fields.get("subfolder") ?? "";
  const wanted = { place, subfolder, name: image.name };
  if (!comfy.files.locate(wanted)) return empty(400);
  if (comfy.faults.take("disk-full")) return serverTrouble;
  const overwrite = form.fields.get("overwrite");
  const isReplacing = overwrite === "true" || overwrite === "1";
  const file = isReplacing ? wanted : freeName(comfy, wanted, image.bytes);
  comfy.files.write(file, image.bytes);
  comfy.ledger.counts.uploads += 1;
  return json({ name: file.name, subfolder, type: place });
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

import path from "node:path";
import { type FileName, isPlace } from "../files.ts";
import { isObject } from "../options.ts";
import { channelOf, decode, encodePng, type Frame, pipe, resize, solidFrame, toRgb } from "../pictures.ts";
import type { Comfy } from "../server/session.ts";
import {
  type Answer,
  type Call,
  empty,
  type Form,
  json,
  readForm,
  sendFile,
  serverTrouble,
} from "./answer.ts";

/** Pages and styles are octets, so that no browser runs them. */
const types: Readonly<Record<string, string>> = {
  gif: "image/gif",
  js: "application/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  txt: "text/plain",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
};

/** GET /view: a file as it is, re-encoded (`preview`), or one of its channels. */
export async function viewImage(call: Call): Promise<Answer> {
  const { comfy, query } = call;
  const found = findFile(call);
  if ("status" in found) return found;
  comfy.ledger.counts.views += 1;
  const encoded = await encode(found, query);
  const headers: Record<string, string> = {
    "content-type": encoded?.[0] ?? typeOf(found.name),
    // Node writes headers byte by byte, so a name in UTF-8 goes through as the real server sends it.
    "content-disposition": `filename="${Buffer.from(found.name).toString("latin1")}"`,
  };
  if (comfy.options.mode === "new") headers["x-content-type-options"] = "nosniff";
  if (!encoded) return sendFile(call, { ...found, headers });
  return { status: 200, headers, body: encoded[1] };
}

interface Found {
  readonly name: string;
  readonly bytes: Buffer;
  readonly modifiedAt: Date;
}

function findFile({ comfy: { files }, query }: Call): Found | Answer {
  const text = query.get("filename");
  if (text === null) return empty(404);
  const [, bare = text, annotated] = /^(.*) ?\[(input|output|temp)\]$/.exec(text) ?? [];
  const place = annotated ?? query.get("type") ?? "output";
  const subfolder = query.get("subfolder") ?? "";
  if (!isPlace(place) || !/^[^/]/.test(bare) || bare.includes("..")) return empty(400);
  const file = { place, subfolder, name: path.posix.basename(bare.trimEnd()) };
  if (!files.locate(file)) return empty(403);
  const bytes = files.read(file);
  return bytes ? { name: file.name, bytes, modifiedAt: files.modifiedAt(file) } : empty(404);
}

function typeOf(name: string): string {
  return types[path.posix.extname(name).slice(1).toLowerCase()] ?? "application/octet-stream";
}

/** Null for a file that is wanted as it is. */
async function encode({ bytes }: Found, query: URLSearchParams): Promise<[string, Buffer] | null> {
  const preview = query.get("preview");
  if (preview !== null) return encodePreview(bytes, preview);
  const channel = query.get("channel");
  if (channel === "rgb") return ["image/png", await encodePng(toRgb(await decode(bytes)))];
  if (channel === "a") return ["image/png", await encodePng(alphaOnly(await decode(bytes)))];
  return null;
}

const defaultQuality = 90;

async function encodePreview(bytes: Buffer, preview: string): Promise<[string, Buffer]> {
  const [wanted, after] = preview.split(";");
  const quality = Number(after ?? defaultQuality) || defaultQuality;
  const frame = await decode(bytes);
  if (wanted === "jpeg") return ["image/jpeg", await pipe(toRgb(frame)).jpeg({ quality }).toBuffer()];
  return ["image/webp", await pipe(frame).webp({ quality }).toBuffer()];
}

function alphaOnly(frame: Frame): Frame {
  const { widthPx, heightPx } = frame;
  const alpha = frame.channels === 4 ? channelOf(frame, 3) : solidFrame(widthPx, heightPx, [255]);
  const data = new Uint8Array(widthPx * heightPx * 4);
  for (let pixel = 0; pixel < alpha.data.length; pixel += 1) data[pixel * 4 + 3] = alpha.data[pixel] ?? 0;
  return { widthPx, heightPx, channels: 4, data };
}

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

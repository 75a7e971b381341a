import path from "node:path";
import { isPlace } from "../files.ts";
import { decode, encodePng, pipe } from "../pictures/codec.ts";
import { channelOf, solidFrame, toRgb, type Frame } from "../pictures.ts";
import { empty, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { sendFile } from "./send-file.ts";

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

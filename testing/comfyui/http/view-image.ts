import { isPlace } from "../files/open-files.ts";
import { decode, encodePng, pipe } from "../pictures/codec.ts";
import { channelOf, solidFrame, toRgb, type Frame } from "../pictures/frame.ts";
import { empty, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";

const types: Readonly<Record<string, string>> = {
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
  const [type, body] = await encode(found, query);
  const headers: Record<string, string> = {
    "content-type": type,
    "content-disposition": `filename="${found.name}"`,
  };
  if (comfy.options.mode === "new") headers["x-content-type-options"] = "nosniff";
  return { status: 200, headers, body };
}

interface Found {
  readonly name: string;
  readonly bytes: Buffer;
}

function findFile({ comfy, query }: Call): Found | Answer {
  const name = query.get("filename");
  const place = query.get("type") ?? "output";
  const subfolder = query.get("subfolder") ?? "";
  if (!name) return empty(404);
  if (name.startsWith("/") || name.includes("..") || !isPlace(place)) return empty(400);
  if (!comfy.files.locate({ place, subfolder, name })) return empty(403);
  const bytes = comfy.files.read({ place, subfolder, name });
  return bytes ? { name, bytes } : empty(404);
}

async function encode({ name, bytes }: Found, query: URLSearchParams): Promise<[string, Buffer]> {
  const preview = query.get("preview");
  if (preview !== null) return encodePreview(bytes, preview);
  const channel = query.get("channel");
  if (channel === "rgb") return ["image/png", await encodePng(toRgb(await decode(bytes)))];
  if (channel === "a") return ["image/png", await encodePng(alphaOnly(await decode(bytes)))];
  const ending = name.split(".").at(-1)?.toLowerCase() ?? "";
  return [types[ending] ?? "application/octet-stream", bytes];
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

import type { Answer } from "../comfyui/http/answer.ts";
import { growBy } from "../comfyui/nodes/masks.ts";
import type { JsonObject } from "../comfyui/options.ts";
import {
  channelOf,
  encodePng,
  type Frame,
  mapBytes,
  pipe,
  resize,
  solidFrame,
  toFrame,
  toRgb,
} from "../comfyui/pictures.ts";
import { missingField, refused, takeTurn, Trouble } from "./faults.ts";
import { readPicture } from "./inpaint.ts";
import { type Iopaint, pluginFacts } from "./options.ts";

/** A mask of an ellipse in the middle: what the simulated plugins take for the subject. */
function ellipse({ widthPx, heightPx }: Frame): Frame {
  return mapBytes(solidFrame(widthPx, heightPx, [0]), (_, at) => {
    const x = ((at % widthPx) + 0.5) / widthPx - 0.5;
    const y = (Math.trunc(at / widthPx) + 0.5) / heightPx - 0.5;
    return x * x + y * y <= 0.16 ? 255 : 0;
  });
}

const spotShare = 0.1;

/** A mask of discs around the clicks `[x, y, 1]` without those around the clicks `[x, y, 0]`: the picture is not looked at. */
function spots({ widthPx, heightPx }: Frame, clicks: unknown): Frame {
  const points = Array.isArray(clicks) ? clicks.filter(isClick) : [];
  const reachPx = Math.max(widthPx, heightPx) * spotShare;
  return mapBytes(solidFrame(widthPx, heightPx, [0]), (_, at) => {
    const [x, y] = [at % widthPx, Math.trunc(at / widthPx)];
    const near = points.filter(([left, top]) => Math.hypot(x - left, y - top) <= reachPx);
    return near.length > 0 && near.every(([, , include]) => include !== 0) ? 255 : 0;
  });
}

function isClick(click: unknown): click is [number, number, number] {
  return Array.isArray(click) && click.every((part) => typeof part === "number");
}

/** The picture with the mask as its alpha. */
function cutOut(rgb: Frame, mask: Frame): Frame {
  return join(mask, (pixel, channel) => rgb.data[pixel * 3 + channel] ?? 0, 1);
}

const highlightColor = [255, 203, 0] as const;
const highlightAlpha = 0.73;

/** The mask as IOPaint shows it: yellow, half transparent. */
function highlight(mask: Frame): Frame {
  const isOn = (pixel: number) => mask.data[pixel] !== 0;
  return join(mask, (pixel, channel) => (isOn(pixel) ? (highlightColor[channel] ?? 0) : 0), highlightAlpha);
}

function join(mask: Frame, colorAt: (pixel: number, channel: number) => number, opacity: number): Frame {
  const data = new Uint8Array(mask.data.length * 4);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.trunc(at / 4);
    data[at] = at % 4 === 3 ? Math.round((mask.data[pixel] ?? 0) * opacity) : colorAt(pixel, at % 4);
  }
  return { widthPx: mask.widthPx, heightPx: mask.heightPx, channels: 4, data };
}

const defaultKernelPx = 5;

/** POST /api/v1/adjust_mask: expand, shrink or reverse. */
export async function adjustMask(_: Iopaint, body: JsonObject): Promise<Answer> {
  if (typeof body.mask !== "string") return missingField("mask");
  if (typeof body.operate !== "string") return missingField("operate");
  const { frame } = await readPicture(body.mask);
  const mask = channelOf(toRgb(frame), 0);
  const reachPx = Math.trunc((typeof body.kernel_size === "number" ? body.kernel_size : defaultKernelPx) / 2);
  const changed =
    body.operate === "reverse"
      ? mapBytes(mask, (value) => 255 - value)
      : growBy(mask, body.operate === "shrink" ? -reachPx : reachPx);
  const png = await encodePng(toRgb(changed));
  return { status: 200, headers: { "content-type": "image/png" }, body: png };
}

/** POST /api/v1/run_plugin_gen_image. */
export function runPluginImage(iopaint: Iopaint, body: JsonObject): Promise<Answer> {
  return runPlugin(iopaint, body, { wanted: "makesImage", missing: "image", work: makeImage });
}

/** POST /api/v1/run_plugin_gen_mask. */
export function runPluginMask(iopaint: Iopaint, body: JsonObject): Promise<Answer> {
  return runPlugin(iopaint, body, { wanted: "makesMask", missing: "mask", work: makeMask });
}

interface Plan {
  readonly wanted: "makesImage" | "makesMask";
  readonly missing: string;
  readonly work: (frame: Frame, body: JsonObject) => Promise<Frame>;
}

async function runPlugin(iopaint: Iopaint, body: JsonObject, plan: Plan): Promise<Answer> {
  const { name, image } = body;
  if (typeof name !== "string") return missingField("name");
  if (typeof image !== "string") return missingField("image");
  const fact = iopaint.plugins.includes(name) ? pluginFacts[name] : undefined;
  if (!fact) throw refused(422, "Plugin not found");
  if (!fact[plan.wanted]) throw refused(422, `Plugin does not support output ${plan.missing}`);
  const { frame } = await readPicture(image);
  if (keepsPicture.has(name)) iopaint.shared.set(name, frame);
  const made = await takeTurn(iopaint, () => plan.work(readShared(iopaint, name, frame), body));
  iopaint.stats.plugins[name] = (iopaint.stats.plugins[name] ?? 0) + 1;
  return { status: 200, headers: { "content-type": "image/png" }, body: await encodePng(made) };
}

/** RealESRGAN keeps `self.img` and `self.output`, the two for faces a `face_helper`: the last request overwrites them. */
const keepsPicture: ReadonlySet<string> = new Set(["RealESRGAN", "GFPGAN", "RestoreFormer"]);

/** What the plugin works on by now: another request's picture where two overlapped, an error where its size differs. */
function readShared({ shared }: Iopaint, name: string, own: Frame): Frame {
  const frame = shared.get(name) ?? own;
  if (frame.widthPx === own.widthPx && frame.heightPx === own.heightPx) return frame;
  const sizes = `(${own.widthPx}) must match the existing size (${frame.widthPx}) at non-singleton dimension 3.`;
  throw new Trouble(500, "RuntimeError", `The expanded size of the tensor ${sizes}`);
}

async function makeImage(frame: Frame, { name, scale }: JsonObject): Promise<Frame> {
  if (name === "RealESRGAN") {
    const factor = typeof scale === "number" ? scale : 2;
    const size = {
      widthPx: Math.round(frame.widthPx * factor),
      heightPx: Math.round(frame.heightPx * factor),
    };
    return resize(frame, size, { method: "lanczos" });
  }
  if (name === "RemoveBG" || name === "AnimeSeg") return cutOut(toRgb(frame), ellipse(frame));
  return toFrame(pipe(toRgb(frame)).sharpen({ sigma: 1 }));
}

async function makeMask(frame: Frame, { name, clicks }: JsonObject): Promise<Frame> {
  return highlight(name === "InteractiveSeg" ? spots(frame, clicks) : ellipse(frame));
}

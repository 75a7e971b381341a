import type { Answer } from "../comfyui/http/answer.ts";
import type { JsonObject } from "../comfyui/json.ts";
import { encodePng, pipe, toFrame } from "../comfyui/pictures/codec.ts";
import { toRgb, type Frame } from "../comfyui/pictures.ts";
import { resize } from "../comfyui/pictures/resize.ts";
import { cutOut, ellipse, highlight, spots } from "./cut-out.ts";
import type { Iopaint } from "./iopaint.ts";
import { pluginFacts } from "./options.ts";
import { readPicture } from "./read-picture.ts";
import { takeTurn } from "./faults.ts";
import { missingField, refused, Trouble } from "./trouble.ts";

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

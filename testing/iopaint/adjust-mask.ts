import type { Answer } from "../comfyui/http/answer.ts";
import type { JsonObject } from "../comfyui/json.ts";
import { growBy } from "../comfyui/nodes/change-mask.ts";
import { encodePng } from "../comfyui/pictures/codec.ts";
import { channelOf, mapBytes, toRgb } from "../comfyui/pictures.ts";
import type { Iopaint } from "./iopaint.ts";
import { readPicture } from "./read-picture.ts";
import { missingField } from "./trouble.ts";

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

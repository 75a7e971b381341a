import { type Frame, resize, solidFrame } from "../pictures.ts";
import { image, mask, type NodeCall, type NodeResult, type Value } from "./call.ts";

/** What a selection marks around a point, as IOPaint's simulator does. */
const reachPx = 6;

interface Place {
  readonly x: number;
  readonly y: number;
}

function placesOf(text: string): Place[] {
  const parsed: unknown = text === "" ? [] : JSON.parse(text);
  // What the workflows of the product write there.
  return parsed as Place[];
}

/** A mask of the picture's size, 255 where `isSet`. */
function drawn({ widthPx, heightPx }: Frame, isSet: (x: number, y: number) => boolean): Frame {
  const { data, ...frame } = solidFrame(widthPx, heightPx, [0]);
  for (let at = 0; at < data.length; at += 1)
    if (isSet(at % widthPx, Math.trunc(at / widthPx))) data[at] = 255;
  return { ...frame, data };
}

/** The middle of the picture, which is taken for what stands out. */
function isMiddle({ widthPx, heightPx }: Frame) {
  return (x: number, y: number) => Math.hypot((x + 0.5) / widthPx - 0.5, (y + 0.5) / heightPx - 0.5) < 0.3;
}

/** SAM3_Detect: discs around the points without those that exclude; a box as it is; by words the middle. */
export function detect(call: NodeCall): NodeResult {
  const { inputs } = call;
  const [frame] = inputs.image("image");
  if (!frame) throw new TypeError("no picture");
  const include = placesOf(inputs.text("positive_coords"));
  const exclude = placesOf(inputs.text("negative_coords"));
  const isNear = (places: readonly Place[], x: number, y: number) =>
    places.some((place) => Math.hypot(place.x - x, place.y - y) <= reachPx);
  const box = inputs.optional("bboxes");
  const isIn = ((): ((x: number, y: number) => boolean) => {
    if (include.length > 0) return (x, y) => isNear(include, x, y) && !isNear(exclude, x, y);
    if (box?.kind === "box")
      return (x, y) => x >= box.left && y >= box.top && x < box.left + box.width && y < box.top + box.height;
    return inputs.optional("conditioning") === null ? () => false : isMiddle(frame);
  })();
  return { values: [mask([drawn(frame, isIn)]), { kind: "opaque", type: "BOUNDING_BOX" }] };
}

/** PrimitiveBoundingBox. */
export function boundingBox({ inputs }: NodeCall): NodeResult {
  const [left, top] = [inputs.number("x"), inputs.number("y")];
  return {
    values: [{ kind: "box", left, top, width: inputs.number("width"), height: inputs.number("height") }],
  };
}

/** RemoveBackground: what stands out is the middle. */
export function removeBackground({ inputs }: NodeCall): NodeResult {
  return { values: [mask(inputs.image("image").map((frame) => drawn(frame, isMiddle(frame))))] };
}

/** SeedVR2Preprocess: the picture as it is. */
export function passPicture({ inputs }: NodeCall): NodeResult {
  return { values: [image(inputs.image("resized_images"))] };
}

/** Canny: the picture as it is, in place of its outlines. */
export function outlines({ inputs }: NodeCall): NodeResult {
  return { values: [image(inputs.image("image"))] };
}

/** SeedVR2PostProcessing: of the size that was wanted. */
export async function fitPicture({ inputs }: NodeCall): Promise<NodeResult> {
  const [wanted] = inputs.image("original_resized_images");
  const made = inputs.image("images");
  const fitted = await Promise.all(
    made.map((frame) => resize(frame, wanted ?? frame, { method: "lanczos" })),
  );
  return { values: [image(fitted)] };
}

const stepPx = 32;

/** TextEncodeQwenImage21: a latent of the first picture's shape, about `resolution` squared. */
export function encodeQwen21({ inputs }: NodeCall): NodeResult {
  const resolution = inputs.number("resolution");
  const first = inputs.optional("images.image_1");
  const frame = first?.kind === "image" ? first.frames[0] : undefined;
  const ratio = frame ? frame.widthPx / frame.heightPx : 1;
  const side = (length: number) => Math.max(stepPx, Math.round(length / stepPx) * stepPx);
  const latent: Value = {
    kind: "latent",
    widthPx: side(Math.sqrt(resolution * resolution * ratio)),
    heightPx: side(Math.sqrt((resolution * resolution) / ratio)),
    count: 1,
    pixels: null,
    mask: null,
  };
  const conditioning: Value = { kind: "opaque", type: "CONDITIONING" };
  return { values: [conditioning, conditioning, latent] };
}

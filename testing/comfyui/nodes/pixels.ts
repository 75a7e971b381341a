import { composite } from "../pictures/composite.ts";
import { mapBytes, solidFrame, toRgb, type Frame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image, mask } from "./value.ts";

/** ImagePadForOutpaint: grey borders, and a mask that is 1 there and fades over `feathering` inside. */
export function imagePadForOutpaint({ inputs }: NodeCall): NodeResult {
  const [leftPx, topPx] = [inputs.number("left"), inputs.number("top")];
  const [rightPx, bottomPx] = [inputs.number("right"), inputs.number("bottom")];
  const padded = inputs.image("image").map((frame) => {
    const widthPx = frame.widthPx + leftPx + rightPx;
    const heightPx = frame.heightPx + topPx + bottomPx;
    const destination = solidFrame(widthPx, heightPx, [127, 127, 127]);
    return composite({ destination, source: toRgb(frame), mask: null, leftPx, topPx });
  });
  const [first] = inputs.image("image");
  if (!first) return { values: [image([]), mask([])] };
  const sides = { leftPx, topPx, rightPx, bottomPx, featheringPx: inputs.number("feathering") };
  return { values: [image(padded), mask([padMask(first, sides)])] };
}

interface Sides {
  readonly leftPx: number;
  readonly topPx: number;
  readonly rightPx: number;
  readonly bottomPx: number;
  readonly featheringPx: number;
}

function padMask(frame: Frame, sides: Sides): Frame {
  const widthPx = frame.widthPx + sides.leftPx + sides.rightPx;
  const ground = solidFrame(widthPx, frame.heightPx + sides.topPx + sides.bottomPx, [255]);
  return mapBytes(ground, (_, at) => {
    const column = (at % widthPx) - sides.leftPx;
    const row = Math.trunc(at / widthPx) - sides.topPx;
    if (column < 0 || row < 0 || column >= frame.widthPx || row >= frame.heightPx) return 255;
    const far = Number.POSITIVE_INFINITY;
    const distance = Math.min(
      sides.leftPx ? column : far,
      sides.rightPx ? frame.widthPx - column : far,
      sides.topPx ? row : far,
      sides.bottomPx ? frame.heightPx - row : far,
    );
    if (distance >= sides.featheringPx) return 0;
    return Math.round(((sides.featheringPx - distance) / sides.featheringPx) ** 2 * 255);
  });
}

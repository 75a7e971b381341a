import type { JobKind } from "../engines/index.ts";
import { sizeClassOf } from "../scheduling/index.ts";
import type { InputImages } from "./load-inputs.ts";

/** Pixels that workflows work on where neither the params nor a picture say it. */
const usualPixels = 1_000_000;

/** The size of a run for comparing it with past ones: pixels of the result, or of the picture worked on, times steps. */
export function sizeClassOfRun(
  kind: JobKind,
  params: Readonly<Record<string, unknown>>,
  inputs: InputImages,
): number {
  const number = (name: string) => (typeof params[name] === "number" ? params[name] : null);
  const [width, height] = [number("width"), number("height")];
  const picture = inputs.get("image") ?? inputs.get("person");
  const scale = kind === "upscale" ? (number("scale") ?? 1) : 1;
  const ofPicture = picture ? picture.widthPx * picture.heightPx * scale ** 2 : usualPixels;
  const pixels = width !== null && height !== null ? width * height : ofPicture;
  return sizeClassOf({ pixels, steps: number("steps") ?? 1 });
}

import type { Job } from "@atelier/server/jobs";
import type { ModelOffer, TemplateValues } from "@atelier/server/providers";
import type { Size } from "@atelier/server/retouch";

const usualSidePx = 1_024;

/** The size that a job asks for; null when it asks for none. One side alone stands beside the usual one. */
export function askedSize({ params }: Pick<Job, "params">): Size | null {
  const { width, height } = params;
  const isSide = (side: unknown): side is number => typeof side === "number" && side > 0;
  if (!isSide(width) && !isSide(height)) return null;
  return { width: isSide(width) ? width : usualSidePx, height: isSide(height) ? height : usualSidePx };
}

/** The ratios that most providers know. */
const usualRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
/** The sizes of OpenAI's pictures. */
const openAiSizes = ["1024x1024", "1536x1024", "1024x1536"];

/** The entry, a ratio or a size, that is nearest to the shape of a size. */
function nearest(entries: readonly string[], { width, height }: Size): string {
  const wanted = Math.log(width / height);
  const distance = (entry: string) => {
    const [across = 1, down = 1] = entry.split(/[:x]/).map(Number);
    return Math.abs(Math.log(across / down) - wanted);
  };
  return entries.toSorted((a, b) => distance(a) - distance(b))[0] ?? "1:1";
}

const [leastPx, mostPx, stepPx] = [256, 2_048, 16];

/** A size of the same shape that generating models take: sides of 256 to 2,048 pixels, in steps of 16. */
function within({ width, height }: Size): Size {
  const scale = Math.min(1, mostPx / Math.max(width, height));
  const grow = Math.max(scale, leastPx / Math.min(width, height));
  const side = (px: number) => Math.min(mostPx, Math.max(leastPx, Math.round((px * grow) / stepPx) * stepPx));
  return { width: side(width), height: side(height) };
}

/** The placeholders of a size for one offer. `shape` is that of the picture that is changed, where no size is asked for. */
export function sizeValues(
  { ratios = usualRatios }: Pick<ModelOffer, "ratios">,
  { asked, shape }: { readonly asked: Size | null; readonly shape: Size | null },
): TemplateValues {
  const known = asked ?? shape;
  const { width, height } = asked ? within(asked) : { width: 0, height: 0 };
  return {
    ...(known ? { aspect_ratio: nearest(ratios, known) } : {}),
    ...(asked
      ? {
          width: asked.width,
          height: asked.height,
          asked_ratio: nearest(ratios, asked),
          size: nearest(openAiSizes, asked),
          image_width: width,
          image_height: height,
        }
      : {}),
  };
}

/** A result of another shape than the job asked for. */
export interface OtherShape {
  readonly asked: string;
  readonly made: string;
}

/** Ratios that differ by less look alike; providers round sizes to their own steps. */
const tolerance = 0.04;

/** The first result that has another shape than the job asks for; null when all have it, or none is asked for. */
export function otherShapeOf(
  job: Pick<Job, "params">,
  made: readonly { readonly widthPx: number; readonly heightPx: number }[],
): OtherShape | null {
  const asked = askedSize(job);
  if (!asked) return null;
  const other = made.find(
    ({ widthPx, heightPx }) =>
      Math.abs(Math.log(widthPx / heightPx) - Math.log(asked.width / asked.height)) > tolerance,
  );
  const text = (width: number, height: number) => `${width} × ${height}`;
  return other ? { asked: text(asked.width, asked.height), made: text(other.widthPx, other.heightPx) } : null;
}

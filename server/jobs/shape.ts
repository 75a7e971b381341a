import { AppError, pictureLimits } from "../platform/index.ts";
import { largestRect, rectOf } from "../retouch/index.ts";
import { checkSizes, type InputFacts, type Inputs } from "./pictures.ts";
import type { SubmitRequest } from "./request.ts";

/**
 * The request as a job has it: a shape becomes the part, or the margins, that give the picture this shape. Throws `bad_request`
 * for a picture that cannot grow to it, `output_too_large`.
 */
export function withoutShape(request: SubmitRequest, inputs: Inputs): SubmitRequest {
  const image = inputs.get("image");
  if (!image || !("shape" in request.params) || request.params.shape === undefined) return request;
  const [wide = 1, high = 1] = request.params.shape.split(":").map(Number);
  const fitted = fitShape(request, { image, ratio: wide / high });
  checkSizes(fitted, inputs);
  return fitted;
}

interface Fit {
  readonly image: InputFacts;
  /** Width ÷ height. */
  readonly ratio: number;
}

function fitShape(request: SubmitRequest, { image, ratio }: Fit): SubmitRequest {
  const size = { width: image.widthPx, height: image.heightPx };
  if (request.kind === "crop") {
    const { shape: _, ...pose } = request.params;
    return { ...request, params: { ...pose, rect: largestRect(size, pose, ratio) } };
  }
  if (request.kind !== "expand") return request;
  const { shape, ...params } = request.params;
  const across = Math.max(0, Math.round(size.height * ratio) - size.width);
  const down = Math.max(0, Math.round(size.width / ratio) - size.height);
  if (across + down === 0 && image.isToCome !== true)
    throw new AppError("bad_request", `The picture has the shape ${shape ?? ""} already.`, {
      details: { hasShape: true },
    });
  const margins = {
    left: half(across),
    right: across - half(across),
    top: half(down),
    bottom: down - half(down),
  };
  const most = pictureLimits.expandSidePx;
  if (Math.max(...Object.values(margins)) > most)
    throw new AppError(
      "bad_request",
      `For this shape one side would have to grow by more than ${most} pixels.`,
    );
  return { ...request, params: { ...params, ...margins } };
}

/** Whether a request was refused since there is nothing to do: its picture has the shape. */
export const hasShape = ({ details }: Pick<AppError, "details">): boolean => details?.["hasShape"] === true;

const half = (px: number) => Math.floor(px / 2);

/** The size of the result, as far as request and picture tell it. */
export function sizeAfter(
  request: SubmitRequest,
  inputs: Inputs,
): { readonly widthPx: number; readonly heightPx: number } | null {
  const { kind, params } = withoutShape(request, inputs);
  const image = inputs.get("image") ?? inputs.get("person");
  if (!image) return null;
  const { widthPx, heightPx } = image;
  if (kind === "upscale") return { widthPx: widthPx * params.scale, heightPx: heightPx * params.scale };
  if (kind === "expand")
    return { widthPx: widthPx + params.left + params.right, heightPx: heightPx + params.top + params.bottom };
  if (kind !== "crop") return { widthPx, heightPx };
  const { width, height } = rectOf({ width: widthPx, height: heightPx }, params);
  return { widthPx: width, heightPx: height };
}

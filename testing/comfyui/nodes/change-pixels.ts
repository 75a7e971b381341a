import { pipe, toFrame } from "../pictures/codec.ts";
import { mapBytes } from "../pictures.ts";
import { perFrame } from "./node-call.ts";

/** ImageInvert. */
export const imageInvert = perFrame((frame) => mapBytes(frame, (value) => 255 - value));

/** ImageBlur; a kernel that ends at the radius is left to sharp's own cut. */
export const imageBlur = perFrame((frame, { inputs }) => {
  const sigma = Math.min(inputs.number("sigma"), inputs.number("blur_radius"));
  return toFrame(pipe(frame).blur(Math.max(0.3, sigma)));
});

/** ImageSharpen. */
export const imageSharpen = perFrame((frame, { inputs }) =>
  toFrame(pipe(frame).sharpen({ sigma: inputs.number("sigma"), m2: inputs.number("alpha") })),
);

/** ImageFlip. */
export const imageFlip = perFrame((frame, { inputs }) =>
  toFrame(inputs.text("flip_method").startsWith("x") ? pipe(frame).flip() : pipe(frame).flop()),
);

/** ImageRotate: clockwise by quarters. */
export const imageRotate = perFrame((frame, { inputs }) => {
  const degrees = Number.parseInt(inputs.text("rotation"), 10) || 0;
  return toFrame(pipe(frame).rotate(degrees));
});

/** ImageCrop: the window is moved inside as the real node does. */
export const imageCrop = perFrame((frame, { inputs }) => {
  const left = Math.min(inputs.number("x"), frame.widthPx - 1);
  const top = Math.min(inputs.number("y"), frame.heightPx - 1);
  const width = Math.min(inputs.number("width"), frame.widthPx - left);
  const height = Math.min(inputs.number("height"), frame.heightPx - top);
  return toFrame(pipe(frame).extract({ left, top, width, height }));
});

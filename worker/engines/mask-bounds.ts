interface Marked {
  /** A byte per pixel, row by row; anything but 0 is marked. */
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Smallest rectangle around what is marked, in pixels. The mask must not be empty. */
export function maskBounds({ data, width, height }: Marked) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let i = 0; i < data.length; i++) {
    if (data[i] === 0) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < top) top = y;
    if (y > bottom) bottom = y;
  }
  return { left, top, width: right - left + 1, height: bottom - top + 1 };
}

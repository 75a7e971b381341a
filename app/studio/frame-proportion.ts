interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

const whenEmpty = 0.8;
const tallest = 0.66;
const widest = 1.5;

/** Width by height of a frame: that of its picture, between 2:3 and 3:2. */
export function frameProportion(picture: Sized | undefined): number {
  if (picture === undefined) return whenEmpty;
  return Math.min(widest, Math.max(tallest, picture.widthPx / picture.heightPx));
}

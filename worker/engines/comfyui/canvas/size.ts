export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Region extends Size {
  readonly left: number;
  readonly top: number;
}

export function roundUp({ width, height }: Size, multipleOf: number): Size {
  const up = (px: number) => Math.ceil(px / multipleOf) * multipleOf;
  return { width: up(width), height: up(height) };
}

export function isSameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

import { byteAt, floatAt } from "../raster/cells.ts";
import type { Level } from "./level.ts";

/** First guess for the unknown pixels: ring by ring inwards, the mean of the neighbours that are known already. */
export function onionFill(level: Level): void {
  const unknown = Uint8Array.from(level.mask);
  let open = [...unknown.keys()].filter((i) => byteAt(unknown, i) === 1);
  while (open.length > 0) {
    const ring = open.filter((i) => fillFromNeighbours(level, unknown, i));
    if (ring.length === 0) return;
    for (const i of ring) unknown[i] = 0;
    open = open.filter((i) => byteAt(unknown, i) === 1);
  }
}

function fillFromNeighbours({ image, width, height }: Level, unknown: Uint8Array, i: number): boolean {
  const x = i % width;
  const y = Math.floor(i / width);
  const sum: [number, number, number] = [0, 0, 0];
  let known = 0;
  for (let n = 0; n < 9; n++) {
    const nx = x + (n % 3) - 1;
    const ny = y + Math.floor(n / 3) - 1;
    if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue;
    const neighbour = ny * width + nx;
    if (byteAt(unknown, neighbour)) continue;
    known++;
    for (const c of [0, 1, 2] as const) sum[c] += floatAt(image, neighbour * 3 + c);
  }
  if (known === 0) return false;
  for (const c of [0, 1, 2] as const) image[i * 3 + c] = sum[c] / known;
  return true;
}

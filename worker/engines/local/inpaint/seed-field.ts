import { byteAt, intAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { patchRadius } from "./level.ts";
import type { PatchField } from "./patch-match.ts";

/** Starts the matches of a level from those of the coarser one, else from random sources. */
export function seedField(field: PatchField, coarse: PatchField | undefined, random: () => number): void {
  for (const target of field.targets) {
    const inherited = coarse ? inheritedMatch(field, coarse, target) : -1;
    field.match[target] =
      inherited >= 0 ? inherited : intAt(field.sources, Math.floor(random() * field.sources.length));
  }
}

function inheritedMatch(field: PatchField, coarse: PatchField, target: number): number {
  const x = target % field.width;
  const y = Math.floor(target / field.width);
  const coarseX = Math.min(coarse.width - 1, x >> 1);
  const coarseY = Math.min(coarse.height - 1, y >> 1);
  const match = intAt(coarse.match, coarseY * coarse.width + coarseX);
  if (match < 0) return -1;
  const sourceX = (match % coarse.width) * 2 + (x & 1);
  const sourceY = Math.floor(match / coarse.width) * 2 + (y & 1);
  const source =
    clamp(sourceY, patchRadius, field.height - patchRadius - 1) * field.width +
    clamp(sourceX, patchRadius, field.width - patchRadius - 1);
  return byteAt(field.isSource, source) ? source : -1;
}

import { byteAt, floatAt } from "../raster/cells.ts";
import { halveLevel } from "./halve-level.ts";
import type { Level } from "./level.ts";
import { onionFill } from "./onion-fill.ts";
import { createPatchDistance, tooFar } from "./patch-distance.ts";
import { createField, type PatchField } from "./patch-match.ts";
import { createRandom } from "./random.ts";
import { searchPatches } from "./search-patches.ts";
import { seedField } from "./seed-field.ts";
import { vote } from "./vote.ts";

const coarsestSidePx = 40;
const mostLevels = 6;
/** A level with fewer patches to copy from is of no use. */
const fewestSources = 64;
const seed = 12_345;

interface FillEvents {
  /** `fraction` of the search steps that are done. */
  onStep(fraction: number): void;
  onLevel(level: Level): Promise<void>;
}

/**
 * Fills the unknown pixels of `level` in place with multi-scale PatchMatch: from coarse to fine, patches over the hole
 * are matched with patches of the known picture and vote for its pixels. Returns false when there is nothing to copy from.
 */
export async function fillHole(level: Level, events: FillEvents): Promise<boolean> {
  const steps = planLevels(level);
  if (steps.length === 0) return false;
  const random = createRandom(seed);
  const work = steps.reduce((sum, step) => sum + step.work, 0);
  let done = 0;
  let coarse: Step | undefined;
  for (const step of steps) {
    if (coarse) inheritPixels(step.level, coarse.level);
    else onionFill(step.level);
    seedField(step.field, coarse?.field, random);
    const before = done;
    refine(step, random, (share) => events.onStep((before + share * step.work) / work));
    done += step.work;
    await events.onLevel(step.level);
    coarse = step;
  }
  return true;
}

interface Step {
  readonly level: Level;
  readonly field: PatchField;
  readonly rounds: number;
  readonly sweeps: number;
  readonly work: number;
}

/** The levels that can be worked on, coarsest first. */
function planLevels(finest: Level): readonly Step[] {
  const steps: Step[] = [];
  let level = finest;
  for (let depth = 0; depth < mostLevels; depth++) {
    const field = createField(level);
    if (field.sources.length < fewestSources || field.targets.length === 0) break;
    const rounds = depth === 0 ? 2 : depth === 1 ? 4 : 8;
    const sweeps = depth === 0 ? 2 : 4;
    steps.unshift({ level, field, rounds, sweeps, work: field.targets.length * rounds * sweeps });
    if (Math.min(level.width, level.height) <= coarsestSidePx) break;
    level = halveLevel(level);
  }
  return steps;
}

function refine(
  { level, field, rounds, sweeps }: Step,
  random: () => number,
  onShare: (share: number) => void,
) {
  const distance = createPatchDistance(level);
  for (let round = 0; round < rounds; round++) {
    for (const target of field.targets) {
      field.cost[target] = distance(target, field.match[target] as number, tooFar);
    }
    for (let sweep = 0; sweep < sweeps; sweep++) {
      searchPatches({ field, distance, random }, sweep % 2 === 0);
      onShare((round * sweeps + sweep + 1) / (rounds * sweeps));
    }
    vote(level, field);
  }
}

function inheritPixels(fine: Level, coarse: Level): void {
  for (let i = 0; i < fine.mask.length; i++) {
    if (!byteAt(fine.mask, i)) continue;
    const x = Math.min(coarse.width - 1, (i % fine.width) >> 1);
    const y = Math.min(coarse.height - 1, Math.floor(i / fine.width) >> 1);
    const from = (y * coarse.width + x) * 3;
    for (let c = 0; c < 3; c++) fine.image[i * 3 + c] = floatAt(coarse.image, from + c);
  }
}

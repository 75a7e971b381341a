import type { OfferedParam } from "./queries.ts";

/** Random seeds have at most nine digits, so that a user can copy one by hand; workflows accept larger seeds. */
const maxDrawnSeed = 1_000_000_000;

export const randomSeed = (): number => Math.floor(Math.random() * maxDrawnSeed);

type Range = Pick<OfferedParam, "min" | "max">;

/** `seed + by`; the number after the largest seed is the smallest one. */
export function addToSeed(seed: number, by: number, { min = 0, max }: Range = {}): number {
  const stepsToLargest = (max ?? Number.MAX_SAFE_INTEGER) - seed;
  return by > stepsToLargest ? min + by - stepsToLargest - 1 : seed + by;
}

/** The user's number, moved into the range of the param, else the default. Undefined for a param without a number. */
export function resolveSetting(
  param: OfferedParam | undefined,
  override: number | undefined,
): number | undefined {
  if (param === undefined || ["text", "seed", "loras", "listed"].includes(param.type)) return undefined;
  if (override !== undefined) return nearestAllowed(override, param);
  return typeof param.default === "number" ? param.default : undefined;
}

/** The nearest number that the param accepts: one of its choices; else within `min` and `max`, and a multiple of its step. */
export function nearestAllowed(value: number, param: OfferedParam): number {
  const choices = Object.keys(param.choices ?? {}).map(Number);
  const [nearest] = choices.toSorted((a, b) => Math.abs(a - value) - Math.abs(b - value));
  if (nearest !== undefined) return nearest;
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : 0);
  const min = param.min ?? 0;
  const max = param.max ?? Number.MAX_SAFE_INTEGER;
  const bounded = Math.min(max, Math.max(min, value));
  if (step === 0) return bounded;
  const lowest = Math.ceil(min / step) * step;
  const highest = Math.floor(max / step) * step;
  return Math.min(highest, Math.max(lowest, Math.round(bounded / step) * step));
}

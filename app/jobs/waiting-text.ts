/** A time as people say it. */
export interface RoundTime {
  readonly value: number;
  readonly unit: "seconds" | "minutes" | "hours";
}

const unitMs = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 } as const;

/** Up to what is said in which steps, both in the unit. */
const scales = [
  { unit: "seconds", below: 10, step: 1 },
  { unit: "seconds", below: 60, step: 5 },
  { unit: "minutes", below: 10, step: 1 },
  { unit: "minutes", below: 60, step: 5 },
  { unit: "hours", below: 5, step: 0.5 },
  { unit: "hours", below: Infinity, step: 1 },
] as const satisfies readonly { unit: RoundTime["unit"]; below: number; step: number }[];

/** Rounded the more the longer it is: 8 s, 45 s, 2 min, 35 min, 1.5 h, 7 h. */
export function roundTime(ms: number, toWhole: (steps: number) => number): RoundTime {
  for (const { unit, below, step } of scales) {
    const value = Math.max(step, toWhole(ms / unitMs[unit] / step) * step);
    if (value < below) return { value, unit };
  }
  return { value: Infinity, unit: "hours" };
}

export interface Span {
  readonly low: RoundTime;
  readonly high: RoundTime;
  /** Both ends read the same. */
  readonly isOne: boolean;
}

/** A range in ms as two round times that hold it; null when it ends within half a second: at once. */
export function spanOf([lowMs, highMs]: readonly [number, number]): Span | null {
  if (highMs < 500) return null;
  const low = roundTime(lowMs, Math.floor);
  const high = roundTime(Math.max(lowMs, highMs), Math.ceil);
  return { low, high, isOne: low.value === high.value && low.unit === high.unit };
}

/** A time as people say it. */
export interface RoundTime {
  readonly value: number;
  readonly unit: "seconds" | "minutes" | "hours";
}

const nearest = (value: number, step: number) => Math.max(step, Math.round(value / step) * step);

/** Rounded the more the longer it is: 8 s, 45 s, 2 min, 35 min, 3 h. */
export function roundTime(ms: number): RoundTime {
  const seconds = ms / 1_000;
  if (seconds < 9.5) return { value: nearest(seconds, 1), unit: "seconds" };
  if (seconds < 57.5) return { value: nearest(seconds, 5), unit: "seconds" };
  const minutes = seconds / 60;
  if (minutes < 9.5) return { value: nearest(minutes, 1), unit: "minutes" };
  if (minutes < 57.5) return { value: nearest(minutes, 5), unit: "minutes" };
  return { value: nearest(minutes / 60, 1), unit: "hours" };
}

export interface Span {
  readonly low: RoundTime;
  readonly high: RoundTime;
  /** Both ends read the same. */
  readonly isOne: boolean;
}

/** A range in ms as two round times; null when it ends within half a second: at once. */
export function spanOf([lowMs, highMs]: readonly [number, number]): Span | null {
  if (highMs < 500) return null;
  const low = roundTime(lowMs);
  const high = roundTime(Math.max(lowMs, highMs));
  return { low, high, isOne: low.value === high.value && low.unit === high.unit };
}

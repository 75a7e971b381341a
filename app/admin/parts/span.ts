const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const two = (ms: number, big: number, [bigUnit, small, smallUnit]: readonly [string, number, string]) => {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ""}`;
};

/** A length of time in words: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatSpan(ms: number): string {
  const known = Math.max(0, ms);
  if (known < 9_950) return `${(known / second).toFixed(1)} s`;
  if (known < minute) return `${Math.floor(known / second)} s`;
  if (known < hour) return two(known, minute, ["min", second, "s"]);
  if (known < day) return two(known, hour, ["h", minute, "min"]);
  return two(known, day, ["d", hour, "h"]);
}

/** As `formatSpan`, in the largest unit alone. */
export function formatAge(ms: number): string {
  const known = Math.max(0, ms);
  if (known < minute) return `${Math.floor(known / second)} s`;
  if (known < hour) return `${Math.floor(known / minute)} min`;
  if (known < 2 * day) return `${Math.floor(known / hour)} h`;
  return `${Math.floor(known / day)} d`;
}

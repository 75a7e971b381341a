/** Passes on at most one value per `intervalMs`; those between are dropped. */
export function limitRate<T>(
  intervalMs: number,
  pass: (value: T) => void,
  nowMs: () => number = () => performance.now(),
): (value: T) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (value) => {
    const now = nowMs();
    if (now < nextMs) return;
    nextMs = now + intervalMs;
    pass(value);
  };
}

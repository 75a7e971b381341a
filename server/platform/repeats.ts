const firstPauseMs = 10_000;
const longestPauseMs = 10 * 60_000;
/** Kinds that are told apart; foreign texts must not fill the memory. */
const maxKinds = 1_000;

interface Told {
  count: number;
  nextAtMs: number;
  pauseMs: number;
  left: number;
}

/**
 * Decides what of things that repeat is said: of each kind the first `atOnce`, then one after pauses that double from ten
 * seconds to ten minutes; after a longer rest a kind is new again. Returns how many were left out before, null for not now.
 */
export function createRepeats(atOnce: number): (kind: string) => number | null {
  const told = new Map<string, Told>();
  return (kind) => {
    const nowMs = performance.now();
    const known = told.get(kind);
    if (!known || nowMs > known.nextAtMs + known.pauseMs) {
      if (told.size >= maxKinds) told.clear();
      told.set(kind, { count: 1, nextAtMs: nowMs + firstPauseMs, pauseMs: firstPauseMs, left: 0 });
      return known?.left ?? 0;
    }
    known.count += 1;
    if (known.count > atOnce && nowMs < known.nextAtMs) {
      known.left += 1;
      return null;
    }
    const { left } = known;
    if (known.count > atOnce) {
      known.pauseMs = Math.min(longestPauseMs, known.pauseMs * 2);
      known.nextAtMs = nowMs + known.pauseMs;
    }
    known.left = 0;
    return left;
  };
}

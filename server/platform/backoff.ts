interface Backoff {
  readonly firstMs: number;
  readonly mostMs?: number;
  /** How many times as long each pause is as the one before; 2 by default. */
  readonly factor?: number;
}

/** The pause after so many failures in a row, 1 or more: each is longer than the one before, up to `mostMs`. */
export function backoffMs(failures: number, { firstMs, mostMs = Infinity, factor = 2 }: Backoff): number {
  // Bounded, so that no pause at first stays none: 0 times infinity is no number.
  const grown = firstMs * factor ** Math.min(failures - 1, 64);
  return Math.min(mostMs, grown);
}

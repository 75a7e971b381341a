/** Whether a picture takes little time and memory, or up to a gigabyte and many seconds in a process of its own. */
export type Weight = "light" | "heavy";

export interface Turn {
  readonly ownerId: string;
  readonly weight: Weight;
}

export type TakeTurn = <T>(turn: Turn, work: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly weight: Weight;
  start(): void;
}

/**
 * Runs `slots` pieces of work at once, at most `heavySlots` of them heavy. Owners who wait take turns. The work of one
 * owner starts in the order in which it came; only light work passes heavy work that has no slot.
 */
export function createTurns({ slots, heavySlots }: { slots: number; heavySlots: number }): TakeTurn {
  const running = { light: 0, heavy: 0 };
  /** The owner whose turn is next stands first. */
  const lines = new Map<string, Waiting[]>();

  const hasRoom = (weight: Weight) =>
    running.light + running.heavy < slots && (weight === "light" || running.heavy < heavySlots);

  function takeNext(): Waiting | undefined {
    for (const [ownerId, line] of lines) {
      const next = line.find(({ weight }) => hasRoom(weight));
      if (!next) continue;
      const later = line.filter((waiting) => waiting !== next);
      lines.delete(ownerId);
      if (later.length > 0) lines.set(ownerId, later);
      return next;
    }
    return undefined;
  }

  function startWaiting(): void {
    for (let next = takeNext(); next; next = takeNext()) {
      running[next.weight] += 1;
      next.start();
    }
  }

  return async ({ ownerId, weight }, work) => {
    await new Promise<void>((start) => {
      lines.set(ownerId, [...(lines.get(ownerId) ?? []), { weight, start }]);
      startWaiting();
    });
    try {
      return await work();
    } finally {
      running[weight] -= 1;
      startWaiting();
    }
  };
}

/** Held while a file's bytes or pixels are in memory: two pictures at once in one process, one of them heavy. */
export const takeDecodeTurn: TakeTurn = createTurns({ slots: 2, heavySlots: 1 });

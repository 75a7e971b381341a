const last = new Map<unknown, Promise<void>>();

/**
 * Runs `work` after all earlier work of the same key in this process; a key is a text, or an object that the work is about.
 * Transactions that lock the same row or key take turns here first: otherwise each of them would hold a connection of the pool
 * while it waits for the lock.
 */
export async function oneAtATime<T>(key: string | object, work: () => Promise<T>): Promise<T> {
  const before = last.get(key);
  const turn = Promise.withResolvers<void>();
  last.set(key, turn.promise);
  try {
    await before;
    return await work();
  } finally {
    turn.resolve();
    if (last.get(key) === turn.promise) last.delete(key);
  }
}

/** Whether a picture takes little time and memory, or up to a gigabyte and many seconds in a process of its own. */
export type Weight = "light" | "heavy";

export interface Permit {
  readonly ownerId: string;
  readonly weight: Weight;
  /** Of a guest or an account that nobody invited. */
  readonly isUninvited?: boolean;
}

export type WithPermit = <T>(permit: Permit, work: () => Promise<T>) => Promise<T>;

interface PermitLimits {
  readonly slots: number;
  readonly heavySlots: number;
  readonly ownerSlots?: number;
  /** Of those that nobody invited all together. */
  readonly uninvitedSlots?: number;
}

interface Waiting {
  readonly weight: Weight;
  readonly isUninvited: boolean;
  start(): void;
}

/**
 * Runs `slots` pieces of work at once, at most `heavySlots` of them heavy, `ownerSlots` of one owner and `uninvitedSlots` of
 * those that nobody invited. Owners who wait take turns. The work of one owner starts in the order in which it came; only
 * light work passes heavy work that has no slot.
 */
export function createPermits(limits: PermitLimits): WithPermit {
  const { slots, heavySlots, ownerSlots = slots, uninvitedSlots = slots } = limits;
  const running = { light: 0, heavy: 0 };
  let runningUninvited = 0;
  const runningByOwner = new Map<string, number>();
  /** Waiting work by owner; the owner with the next turn is first. */
  const lines = new Map<string, Waiting[]>();

  const hasRoom = ({ weight, isUninvited }: Waiting) =>
    running.light + running.heavy < slots &&
    (weight === "light" || running.heavy < heavySlots) &&
    (!isUninvited || runningUninvited < uninvitedSlots);

  function count(ownerId: string, by: 1 | -1): void {
    const left = (runningByOwner.get(ownerId) ?? 0) + by;
    if (left > 0) runningByOwner.set(ownerId, left);
    else runningByOwner.delete(ownerId);
  }

  function takeNext(): Waiting | undefined {
    for (const [ownerId, line] of lines) {
      if ((runningByOwner.get(ownerId) ?? 0) >= ownerSlots) continue;
      const next = line.find(hasRoom);
      if (!next) continue;
      const later = line.filter((waiting) => waiting !== next);
      lines.delete(ownerId);
      if (later.length > 0) lines.set(ownerId, later);
      count(ownerId, 1);
      return next;
    }
    return undefined;
  }

  function startWaiting(): void {
    for (let next = takeNext(); next; next = takeNext()) {
      running[next.weight] += 1;
      if (next.isUninvited) runningUninvited += 1;
      next.start();
    }
  }

  return async ({ ownerId, weight, isUninvited = false }, work) => {
    await new Promise<void>((start) => {
      lines.set(ownerId, [...(lines.get(ownerId) ?? []), { weight, isUninvited, start }]);
      startWaiting();
    });
    try {
      return await work();
    } finally {
      running[weight] -= 1;
      if (isUninvited) runningUninvited -= 1;
      count(ownerId, -1);
      startWaiting();
    }
  };
}

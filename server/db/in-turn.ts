const last = new Map<string, Promise<void>>();

/**
 * Runs `work` after all earlier work of the same key in this process. Transactions that lock the same row or key take
 * turns here first: otherwise each of them waits for the lock with a connection of the pool, and others find none.
 */
export async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
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

/** Resolves waits for things that happen to ids, whichever comes first: the wait or the event. */
export interface Signals {
  readonly note: (id: string) => void;
  /** When it happened, by `performance.now()`. */
  when(id: string): Promise<number>;
}

export function createSignals(): Signals {
  const waiting = new Map<string, (atMs: number) => void>();
  const early = new Map<string, number>();
  return {
    note(id) {
      const resolve = waiting.get(id);
      if (resolve) resolve(performance.now());
      else early.set(id, performance.now());
    },
    when: (id) =>
      new Promise((resolve) => {
        const atMs = early.get(id);
        if (atMs === undefined) waiting.set(id, resolve);
        else resolve(atMs);
      }),
  };
}

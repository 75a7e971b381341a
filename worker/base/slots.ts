/** A bounded number of pieces of work that one process has under way, each under its own id. */
export interface Slots<Held> {
  /** Starts the work unless the slots are full, closed, or have the id; false then. Its errors are its own. */
  begin(id: string, held: Held, work: () => Promise<unknown>): boolean;
  get(id: string): Held | undefined;
  readonly size: number;
  /** Number of slots that are free. */
  free(): number;
  ids(): string[];
  /** Nothing more begins; resolves when all that is under way has ended. */
  close(): Promise<void>;
}

interface SlotsOptions {
  readonly max: number;
  /** Called after each end, such as to look for the next piece. */
  readonly onFree?: () => void;
}

export function createSlots<Held>({ max, onFree }: SlotsOptions): Slots<Held> {
  const busy = new Map<string, { readonly held: Held; readonly ended: Promise<void> }>();
  let isClosed = false;
  return {
    begin(id, held, work) {
      if (isClosed || busy.has(id) || busy.size >= max) return false;
      const end = () => {
        busy.delete(id);
        if (!isClosed) onFree?.();
      };
      // In a later step, so that the slot is taken before the work looks at it.
      const ended = Promise.resolve().then(work).then(end, end);
      busy.set(id, { held, ended });
      return true;
    },
    get: (id) => busy.get(id)?.held,
    get size() {
      return busy.size;
    },
    free: () => (isClosed ? 0 : Math.max(0, max - busy.size)),
    ids: () => [...busy.keys()],
    async close() {
      isClosed = true;
      await Promise.all([...busy.values()].map(({ ended }) => ended));
    },
  };
}

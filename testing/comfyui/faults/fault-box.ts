import { isRunFault, type Fault, type RunFault } from "../faults.ts";

type Of<K extends Fault["kind"]> = Extract<Fault, { kind: K }>;

/** The faults that wait to strike. */
export interface FaultBox {
  inject(fault: Fault): void;
  clear(): void;
  list(): Fault[];
  has(kind: Fault["kind"]): boolean;
  /** Uses up one time of the first fault of that kind that fits; null when there is none. */
  take<K extends Fault["kind"]>(kind: K, fits?: (fault: Of<K>) => boolean): Of<K> | null;
  /** Uses up one time of each kind that strikes a running prompt. */
  takeForRun(): RunFault[];
  /** POST /free ends what lasts until then. */
  free(): void;
}

interface Waiting {
  readonly fault: Fault;
  left: number;
}

/** An empty box. */
export function createFaultBox(): FaultBox {
  let waiting: Waiting[] = [];
  const use = (found: Waiting) => {
    found.left -= 1;
    waiting = waiting.filter(({ left }) => left > 0);
  };
  const isOf = <K extends Fault["kind"]>(fault: Fault, kind: K): fault is Of<K> => fault.kind === kind;
  return {
    inject: (fault) => waiting.push({ fault, left: timesOf(fault) }),
    clear: () => (waiting = []),
    list: () => waiting.map(({ fault }) => fault),
    has: (kind) => waiting.some(({ fault }) => fault.kind === kind),
    take: (kind, fits = () => true) => {
      for (const entry of waiting) {
        if (!isOf(entry.fault, kind) || !fits(entry.fault)) continue;
        use(entry);
        return entry.fault;
      }
      return null;
    },
    takeForRun: () => {
      const firstByKind = new Map<string, Waiting>();
      for (const entry of waiting) {
        if (isRunFault(entry.fault) && !firstByKind.has(entry.fault.kind)) {
          firstByKind.set(entry.fault.kind, entry);
        }
      }
      const taken = [...firstByKind.values()];
      for (const entry of taken) use(entry);
      return taken.map(({ fault }) => fault).filter(isRunFault);
    },
    free: () => (waiting = waiting.filter(({ fault }) => !endsWhenFreed(fault))),
  };
}

function endsWhenFreed(fault: Fault): boolean {
  return "untilFreed" in fault && fault.untilFreed === true;
}

function timesOf(fault: Fault): number {
  if (fault.times === "forever" || endsWhenFreed(fault)) return Number.POSITIVE_INFINITY;
  return fault.times ?? (fault.kind === "disk-full" ? Number.POSITIVE_INFINITY : 1);
}

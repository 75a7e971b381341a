/** A fault of IOPaint; `times` is 1 by default. */
export interface IopaintFault {
  readonly kind:
    | "gpu-out-of-memory"
    | "cpu-out-of-memory"
    | "error"
    | "hang"
    | "slow"
    | "html"
    | "garbage"
    | "lost-answer";
  readonly times?: number | "forever";
  /** Of "html". */
  readonly status?: number;
  /** Of "slow". */
  readonly ms?: number;
}

export interface IopaintFaultBox {
  inject(fault: IopaintFault): void;
  clear(): void;
  take(kind: IopaintFault["kind"]): IopaintFault | null;
}

const kinds: Readonly<Record<IopaintFault["kind"], true>> = {
  "gpu-out-of-memory": true,
  "cpu-out-of-memory": true,
  error: true,
  hang: true,
  slow: true,
  html: true,
  garbage: true,
  "lost-answer": true,
};

export function isIopaintFault(value: unknown): value is IopaintFault {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  return typeof value.kind === "string" && value.kind in kinds;
}

/** An empty box. */
export function createIopaintFaults(): IopaintFaultBox {
  let waiting: { fault: IopaintFault; left: number }[] = [];
  return {
    inject: (fault) => {
      const left = fault.times === "forever" ? Number.POSITIVE_INFINITY : (fault.times ?? 1);
      waiting.push({ fault, left });
    },
    clear: () => (waiting = []),
    take: (kind) => {
      const found = waiting.find(({ fault }) => fault.kind === kind);
      if (!found) return null;
      found.left -= 1;
      waiting = waiting.filter(({ left }) => left > 0);
      return found.fault;
    },
  };
}

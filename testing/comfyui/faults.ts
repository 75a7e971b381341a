interface Often {
  /** How often it strikes; once by default, "forever" until cleared. */
  readonly times?: number | "forever";
}

interface InNode extends Often {
  /** The class of the node that fails; the sampler by default, else the first node that is run. */
  readonly nodeClass?: string;
}

/** A fault that strikes while a prompt runs; each prompt uses up one time. */
export type RunFault =
  /** `untilFreed`: every prompt fails until POST /free, as a full card does. */
  | (InNode & { readonly kind: "gpu-out-of-memory" | "cpu-out-of-memory"; readonly untilFreed?: boolean })
  | (InNode & { readonly kind: "node-error"; readonly exceptionType?: string; readonly message?: string })
  | (InNode & { readonly kind: "execution-blocked" })
  /** Every prompt fails until a restart, as on a server whose process has lost its card. */
  | (InNode & { readonly kind: "card-lost" })
  /** Stays at 0 %; `deaf`: an interrupt does not end it either. */
  | (InNode & { readonly kind: "hang"; readonly deaf?: boolean })
  | (InNode & { readonly kind: "slow-node"; readonly ms: number })
  /** The node works until it is released; an interrupt is heard only then. */
  | (InNode & { readonly kind: "hold" })
  /** The owner's socket stays open and says nothing of this prompt. */
  | (Often & { readonly kind: "socket-silent" })
  /** The owner's socket is cut in the middle of the sampler; `refuse` also answers 502 to new ones of that client. */
  | (InNode & { readonly kind: "socket-drop"; readonly refuse?: boolean })
  /** Neither `execution_success` nor the final `executing null` are sent. */
  | (Often & { readonly kind: "socket-no-end" })
  | (Often & { readonly kind: "history-late"; readonly ms: number });

/** A fault of the HTTP side; `path` limits it to routes that begin so ("POST /prompt" or "/view"). */
type HttpFault =
  /** A page of the proxy; 413 and 502 as nginx writes them. */
  | (Often & { readonly kind: "html"; readonly status: number; readonly path?: string })
  /** `isDone`: the request is done first, and only its answer is slow. `until`, in place of `ms`, for a test in one process. */
  | (Often & {
      readonly kind: "slow-answer";
      readonly ms?: number;
      readonly until?: Promise<void>;
      readonly path?: string;
      readonly isDone?: boolean;
    })
  /** The request is done, its answer never arrives. */
  | (Often & { readonly kind: "lost-answer"; readonly path?: string })
  | (Often & { readonly kind: "never-answers"; readonly path?: string })
  /** 200 with a body that is not JSON, or not an image. */
  | (Often & { readonly kind: "garbage"; readonly path?: string })
  /** Answers with graphs hold NaN and Infinity, as of a node that is never the same. */
  | (Often & { readonly kind: "odd-numbers"; readonly path?: string })
  /** POST /prompt answers 200 although one output failed its validation. */
  | (Often & { readonly kind: "node-errors-with-200" })
  /** POST /prompt runs under an id of the server's own, as servers do that are older than ours. */
  | (Often & { readonly kind: "own-prompt-id" })
  /** Uploads answer 500, SaveImage fails with errno 28; "forever" by default. */
  | (Often & { readonly kind: "disk-full" })
  /** A node that saves pictures makes files of another kind, as nodes for videos do. */
  | (Often & { readonly kind: "other-files"; readonly extension: string })
  /** The node names a place outside of the server's folders, as nodes do that save where a workflow says. */
  | (Often & { readonly kind: "outside-files" })
  /** The node names its picture twice, in a list of lists, and a film and a text beside it. */
  | (Often & { readonly kind: "more-files" })
  /** A node becomes several ones while it runs, as in a loop: its files stand under their ids, and `meta` names the node. */
  | (Often & { readonly kind: "expanded-output" })
  /** An interrupt is answered and forgotten, as one is that comes just before a prompt begins. */
  | (Often & { readonly kind: "interrupt-lost" })
  /** The upgrade to a WebSocket is answered with 502. */
  | (Often & { readonly kind: "socket-refused" });

export type Fault = RunFault | HttpFault;

const runKinds: Readonly<Record<RunFault["kind"], true>> = {
  "gpu-out-of-memory": true,
  "cpu-out-of-memory": true,
  "node-error": true,
  "execution-blocked": true,
  "card-lost": true,
  hang: true,
  "slow-node": true,
  hold: true,
  "socket-silent": true,
  "socket-drop": true,
  "socket-no-end": true,
  "history-late": true,
};

const httpKinds: Readonly<Record<HttpFault["kind"], true>> = {
  html: true,
  "slow-answer": true,
  "lost-answer": true,
  "never-answers": true,
  garbage: true,
  "odd-numbers": true,
  "node-errors-with-200": true,
  "own-prompt-id": true,
  "disk-full": true,
  "other-files": true,
  "outside-files": true,
  "more-files": true,
  "expanded-output": true,
  "interrupt-lost": true,
  "socket-refused": true,
};

function isRunFault(fault: Fault): fault is RunFault {
  return fault.kind in runKinds;
}

/** Whether a text names a fault. */
export function isFaultKind(kind: unknown): kind is Fault["kind"] {
  return typeof kind === "string" && (kind in runKinds || kind in httpKinds);
}

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
  /** A restart ends what is of the process. */
  restart(): void;
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
    restart: () => (waiting = waiting.filter(({ fault }) => fault.kind !== "card-lost")),
  };
}

function endsWhenFreed(fault: Fault): boolean {
  return "untilFreed" in fault && fault.untilFreed === true;
}

function timesOf(fault: Fault): number {
  if (fault.times === "forever" || endsWhenFreed(fault) || fault.kind === "card-lost")
    return Number.POSITIVE_INFINITY;
  return fault.times ?? (fault.kind === "disk-full" ? Number.POSITIVE_INFINITY : 1);
}

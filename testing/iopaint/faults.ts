import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, json } from "../comfyui/http/answer.ts";
import type { Iopaint } from "./options.ts";

/** A fault of IOPaint; `times` is 1 by default. */
export interface IopaintFault {
  readonly kind:
    | "gpu-out-of-memory"
    | "cpu-out-of-memory"
    | "error"
    | "card-lost"
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
  /** Of "slow": it lasts until then. */
  readonly until?: Promise<void>;
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
  "card-lost": true,
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

/** What Python raised: becomes the JSON error of IOPaint. */
export class Trouble extends Error {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** An HTTPException of FastAPI. */
export function refused(status: number, detail: string): Trouble {
  return new Trouble(status, "HTTPException", detail);
}

/** `{error, detail, body, errors}` with the status. */
export function showTrouble({ status, error, message }: Trouble): Answer {
  const isRefusal = error === "HTTPException";
  const detail = isRefusal ? message : "";
  const errors = isRefusal ? `${status}: ${message}` : message;
  return json({ error, detail, body: "", errors }, status);
}

/** A request body that misses a field, as pydantic tells it. */
export function missingField(name: string): Answer {
  const detail = [{ type: "missing", loc: ["body", name], msg: "Field required", input: {} }];
  return json({ detail }, 422);
}

/**
 * Works and lets the faults of a computation strike. Requests are served at the same time, as by the real server, whose
 * lock is made but never used.
 */
export async function takeTurn<T>(iopaint: Iopaint, work: () => Promise<T>): Promise<T> {
  iopaint.inside += 1;
  iopaint.stats.mostAtOnce = Math.max(iopaint.stats.mostAtOnce, iopaint.inside);
  try {
    return await compute(iopaint, work);
  } finally {
    iopaint.inside -= 1;
  }
}

async function compute<T>(iopaint: Iopaint, work: () => Promise<T>): Promise<T> {
  const { faults, end } = iopaint;
  const hangs = faults.take("hang") !== null;
  const slow = faults.take("slow");
  await pause(hangs ? Number.POSITIVE_INFINITY : iopaint.workMs + (slow?.ms ?? 0), end.signal);
  await slow?.until;
  if (faults.take("gpu-out-of-memory")) {
    const message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB";
    throw new Trouble(500, "OutOfMemoryError", message);
  }
  if (faults.take("cpu-out-of-memory")) {
    const place = "[enforce fail at alloc_cpu.cpp:75] err == 0.";
    const message = `${place} DefaultCPUAllocator: can't allocate memory: you tried to allocate 2147483648 bytes.`;
    throw new Trouble(500, "RuntimeError", message);
  }
  if (faults.take("card-lost")) throw new Trouble(500, "RuntimeError", lostCardText);
  if (faults.take("error")) throw new Trouble(500, "RuntimeError", "a fault was injected");
  return work();
}

const lostCardText = "CUDA error: device-side assert triggered\nCUDA kernel errors might be reported later.";

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return;
  if (Number.isFinite(ms)) {
    await sleep(ms, undefined, { signal });
    return;
  }
  await new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the server was killed")), { once: true });
  });
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Iopaint } from "./iopaint.ts";
import { Trouble } from "./trouble.ts";

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
  if (faults.take("gpu-out-of-memory")) {
    const message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB";
    throw new Trouble(500, "OutOfMemoryError", message);
  }
  if (faults.take("cpu-out-of-memory")) {
    const place = "[enforce fail at alloc_cpu.cpp:75] err == 0.";
    const message = `${place} DefaultCPUAllocator: can't allocate memory: you tried to allocate 2147483648 bytes.`;
    throw new Trouble(500, "RuntimeError", message);
  }
  if (faults.take("error")) throw new Trouble(500, "RuntimeError", "a fault was injected");
  return work();
}

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

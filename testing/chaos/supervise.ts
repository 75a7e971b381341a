import type { TestWorker } from "../worker/index.ts";

/** Starts the worker again whenever it died, as a supervisor does, until `over`; tells how often it started. */
export async function supervise(start: () => Promise<TestWorker>, over: AbortSignal): Promise<number> {
  const isOver = new Promise((resolve) => over.addEventListener("abort", resolve));
  let starts = 0;
  while (!over.aborted) {
    const worker = await start();
    starts += 1;
    await Promise.race([worker.exited, isOver]);
  }
  return starts;
}

import { setTimeout as sleep } from "node:timers/promises";

/** Asks every 25 ms until the condition holds; false when it still does not after `timeoutMs`. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) return false;
    await sleep(25);
  }
  return true;
}

import { writeSync } from "node:fs";

// Loaded into the function before Next: the part of a platform that Next asks to wait for work that goes on after an answer.

/** Shared with the platform, which reads it when the last answer was sent: pending work, as text. */
const counterFile = 3;

let pending = 0;

function count(change: number): void {
  pending += change;
  writeSync(counterFile, String(pending).padEnd(8), 0);
}

function waitUntil(work: Promise<unknown>): void {
  count(1);
  const settle = () => count(-1);
  work.then(settle, settle);
}

// The name that Next looks for: https://nextjs.org/docs/app/api-reference/functions/after
Reflect.set(globalThis, Symbol.for("@next/request-context"), { get: () => ({ waitUntil }) });

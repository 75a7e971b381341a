import { workerData } from "node:worker_threads";

/** Preloaded into a process and its threads: the thread of the beat starts after so many ms, as on a machine with other work. */
const slowName = "ATELIER_TEST_BEAT_STARTS_AFTER_MS";

const isBeat = typeof workerData === "object" && workerData !== null && "beatMs" in workerData;
if (isBeat) process.stdout.write("the beat is held\n");
if (isBeat) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env[slowName] ?? 0));

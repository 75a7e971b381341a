import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { mergeStreams } from "./live.ts";

async function heapBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("no garbage collection");
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  return process.memoryUsage().heapUsed;
}

async function* never(signal: AbortSignal): AsyncGenerator<string> {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  yield* [];
}

async function* previews(count: number): AsyncGenerator<string> {
  for (let at = 0; at < count; at += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    // Each a string of its own, as a preview is.
    yield Buffer.alloc(15_000, 97 + (at % 26)).toString("latin1");
  }
}

test("D10 a stream keeps none of 4,000 updates of 15 kB that were read, while the other stream is silent", async () => {
  const stop = new AbortController();
  let count = 0;
  const measured: number[] = [];
  for await (const _update of mergeStreams(previews(4_000), never(stop.signal), () => stop.abort())) {
    count += 1;
    if (count === 100 || count === 4_000) measured.push(await heapBytes());
  }
  const [before = 0, after = Infinity] = measured;
  expect(count).toBe(4_000);
  expect(after - before).toBeLessThan(5_000_000);
});

async function* of(values: readonly string[], error?: Error): AsyncGenerator<string> {
  for (const value of values) {
    await new Promise((resolve) => setImmediate(resolve));
    yield value;
  }
  if (error) throw error;
}

async function readAll(stream: AsyncGenerator<string>): Promise<string[]> {
  const all = [];
  for await (const each of stream) all.push(each);
  return all;
}

test("D10 both streams are read, in their order, until the first ends; an error of either ends both", async () => {
  const stop = new AbortController();
  const both = await readAll(mergeStreams(of(["a", "b", "c"]), of(["1"]), () => undefined));
  expect(both.filter((each) => each > "9")).toEqual(["a", "b", "c"]);
  expect(both).toContain("1");
  expect(await readAll(mergeStreams(of(["a"]), never(stop.signal), () => stop.abort()))).toEqual(["a"]);
  expect(stop.signal.aborted).toBe(true);
  const failed = new Error("away");
  await expect(readAll(mergeStreams(of(["a"]), of([], failed), () => undefined))).rejects.toThrow("away");
  await expect(readAll(mergeStreams(of([], failed), of(["a"]), () => undefined))).rejects.toThrow("away");
});

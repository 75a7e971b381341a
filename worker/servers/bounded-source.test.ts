import { expect, test } from "vitest";
import { boundedSource } from "./bounded-source.ts";

test("F20 a source that heeds no signal is given up in time; the next call waits for the same read", async () => {
  const { signal } = new AbortController();
  const answers = [Promise.withResolvers<never[]>(), Promise.withResolvers<never[]>()];
  let reads = 0;
  const read = boundedSource({ name: "deaf", read: () => answers[reads++]?.promise ?? never }, 50);
  const timeout = { name: "TimeoutError" };
  await expect(read(signal)).rejects.toMatchObject(timeout);
  await expect(read(signal)).rejects.toMatchObject(timeout);
  expect(reads).toBe(1);
  const last = read(signal);
  answers[0]?.resolve([]);
  expect(await last).toEqual({ servers: [], refused: [] });
  answers[1]?.resolve([]);
  await read(signal);
  expect(reads).toBe(2);
});

const never = new Promise<never>(() => undefined);

import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { addTinyTextModel } from "@atelier/testing/text-model";
import { afterEach, beforeEach, expect, test } from "vitest";
import { closeKept } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { embedOnboard } from "./index.ts";

type OnboardServices = Parameters<typeof embedOnboard>[0];
let services: OnboardServices;
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-text-model-"));
  // The child has no database: the connection only owns it.
  services = { db: {} as Services["db"], env: { ATELIER_DATA_DIR: folder } as Services["env"] };
});
afterEach(async () => {
  await closeKept(services.db);
  await rm(folder, { recursive: true });
});

const signal = new AbortController().signal;
const near = (one: readonly number[] = [], other: readonly number[] = []) =>
  one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);

test("vectors come in the order of the texts, of length 1, alone as among others", async () => {
  await addTinyTextModel(services.env);
  const texts = Array.from({ length: 20 }, (_, at) => "abcdefghij".slice(0, 1 + (at % 9)));
  const vectors = await embedOnboard(services, texts, signal);
  expect(vectors).toHaveLength(20);
  for (const vector of vectors) expect(near(vector, vector)).toBeCloseTo(1, 4);
  const [alone] = await embedOnboard(services, [texts[4] ?? ""], signal);
  expect(near(alone, vectors[4])).toBeCloseTo(1, 3);
  expect(near(vectors[0], vectors[8])).toBeLessThan(0.99);
});

test("an aborted order is rejected at once, and the next one is answered", async () => {
  await addTinyTextModel(services.env);
  const stop = new AbortController();
  const aborted = embedOnboard(services, ["abc"], stop.signal);
  stop.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  await expect(embedOnboard(services, ["abc"], stop.signal)).rejects.toThrow("enough");
  expect(await embedOnboard(services, ["abc"], signal)).toHaveLength(1);
});

test("without a file the reason is told, and once it is there the next order is answered", async () => {
  await expect(embedOnboard(services, ["abc"], signal)).rejects.toThrow("no such file");
  await addTinyTextModel(services.env);
  expect(await embedOnboard(services, ["abc"], signal)).toHaveLength(1);
});

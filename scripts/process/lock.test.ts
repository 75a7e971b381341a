import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identify, removeLock, withFileLock } from "./lock.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-test-lock-"));
  file = path.join(folder, "lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

const dead = JSON.stringify({ pid: process.pid, startedAt: "before this process" });
const live = JSON.stringify(identify(process.pid));

test("a lock holds out all others and is gone afterwards", async () => {
  let inside = 0;
  const most: number[] = [];
  const enter = () =>
    withFileLock(file, async () => {
      inside += 1;
      most.push(inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    });
  await Promise.all(Array.from({ length: 10 }, enter));
  expect(most).toEqual(Array(10).fill(1));
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["of a dead owner", dead],
  ["that was never written", ""],
  ["that is broken", '{"pid":'],
])("an old lock %s is taken over", async (_name, text) => {
  writeFileSync(file, text);
  utimesSync(file, new Date(0), new Date(0));
  expect(await withFileLock(file, () => Promise.resolve(readFileSync(file, "utf8")))).toBe(live);
  expect(readdirSync(folder)).toEqual([]);
});

test("a takeover that comes late puts the lock of the new owner back", () => {
  writeFileSync(file, live);
  removeLock(file, dead);
  expect(readFileSync(file, "utf8")).toBe(live);
  expect(readdirSync(folder)).toEqual(["lock"]);
});

test("a fresh lock without an owner is waited for, since it is just being written", async () => {
  writeFileSync(file, "");
  const order: string[] = [];
  const waiting = withFileLock(file, () => Promise.resolve(void order.push("taken")));
  await new Promise((resolve) => setImmediate(resolve));
  order.push("freed");
  rmSync(file);
  await waiting;
  expect(order).toEqual(["freed", "taken"]);
});

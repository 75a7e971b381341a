import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findMisfiled } from "./find-misfiled.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-files-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, lines: readonly string[], count = lines.length): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  const filler = Array.from({ length: count - lines.length }, () => "");
  writeFileSync(path.join(folder, file), `${[...lines, ...filler].join("\n")}\n`);
}

test("a product file of more than 300 lines is found; tests, testing and migrations may be longer", () => {
  write("server/jobs/long.ts", ["export {};"], 301);
  write("server/jobs/full.ts", ["export {};"], 300);
  write("server/jobs/long.test.ts", ["export {};"], 301);
  write("testing/long.ts", ["export {};"], 301);
  write("drizzle/migrations/long.ts", ["export {};"], 301);
  expect(findMisfiled(folder)).toEqual([
    { file: "server/jobs/long.ts", reason: "has 301 lines, more than 300" },
  ]);
});

test("a short file with one importer in its own folder is found", () => {
  write("server/jobs/part.ts", ["export const part = 1;"], 79);
  write("server/jobs/topic.ts", ['import { part } from "./part.ts";', "export { part };"]);
  write("server/jobs/part.test.ts", ['import "./part.ts";']);
  expect(findMisfiled(folder)).toEqual([
    { file: "server/jobs/part.ts", reason: "has 79 lines and one importer, in its own folder" },
  ]);
});

test("80 lines, a second importer or one in another folder justify a file", () => {
  write("server/long.ts", ["export {};"], 80);
  write("server/shared.ts", ["export {};"]);
  write("server/foreign.ts", ["export {};"]);
  write("server/one.ts", ['import "./long.ts";', 'import "./shared.ts";']);
  write("server/two.ts", ['import "./shared.ts";']);
  write("server/jobs/three.ts", ['import "../foreign.ts";']);
  expect(findMisfiled(folder)).toEqual([]);
});

test("entries, lazily loaded files and what a door publishes are no fragments", () => {
  write("app/page.tsx", ["export {};"]);
  write("app/lazy.tsx", ["export {};"]);
  write("app/frame.tsx", ['import "./page.tsx";', 'export const load = () => import("./lazy.tsx");']);
  write("worker/beat-thread.ts", ["export {};"]);
  write("worker/encode-child.ts", ["export {};"]);
  write("worker/loop.ts", ['import "./beat-thread.ts";', 'import "./encode-child.ts";']);
  write("server/jobs/cancel.ts", ["export const cancel = 1;"]);
  write("server/jobs/index.ts", ['export { cancel } from "./cancel.ts";']);
  expect(findMisfiled(folder)).toEqual([]);
});

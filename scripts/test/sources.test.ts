import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { hashSources, isBuiltOf, markBuilt } from "./sources.ts";

const root = mkdtempSync(path.join(os.tmpdir(), "atelier-sources-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const buildDir = path.join(root, ".next");
const write = (name: string, text: string) => writeFileSync(path.join(root, name), text);

test("a build counts as that of its sources until one of them, or its environment, is another", () => {
  execFileSync("git", ["init", "-q"], { cwd: root });
  mkdirSync(buildDir);
  write(".gitignore", ".next\n");
  write("page.ts", "1");
  const of = (env: Readonly<Record<string, string>> = {}) => isBuiltOf(buildDir, hashSources(root, env));
  expect(of()).toBe(false);
  markBuilt(buildDir, hashSources(root, {}));
  expect(of()).toBe(true);
  expect(of({ NEXT_OUTPUT: "standalone" })).toBe(false);
  write("page.ts", "2");
  expect(of()).toBe(false);
  write("page.ts", "1");
  expect(of()).toBe(true);
  write("new.ts", "");
  expect(of()).toBe(false);
});

test("outside of a checkout nothing counts as built", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-sources-"));
  try {
    markBuilt(folder, hashSources(folder, {}));
    expect(isBuiltOf(folder, hashSources(folder, {}))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { narrow, narrowChunks } from "./narrow-chunks.ts";

const programs = [
  `"It says: “yes”…"`,
  "const name = '⚠️'; `${name} and — ${`nested ’${name}’`}`",
  String.raw`JSON.parse('{"a":"… \\u2014 —"}')`,
  `["“a”", "🙂b", "ü"].map((text) => text.replace(/[“”]/g, "'").replace(/^[🙂🙃]/u, "smile"))`,
  "/* ← */ const größeɐ = 1; größeɐ + 1",
];

test.each(programs)("a narrowed program means the same: %s", (program) => {
  const padded = `${program} // ${".".repeat(500)}`;
  const narrowed = narrow(padded) ?? "";
  expect(narrowed).toMatch(/^[\0-\xff]+$/);
  expect(runInNewContext(narrowed)).toEqual(runInNewContext(padded));
});

test.each([
  ["has no such character", `"größe"`],
  ["is mostly of them", `"Ваши картинки, ваши машины"`],
  ["has one after a backslash", `"a \\… ${".".repeat(500)}"`],
  ["has one in a raw template", `String.raw\`\\d…\`; "${".".repeat(500)}"`],
])("a program that %s stays as it is", (_why, program) => {
  expect(narrow(program)).toBeNull();
});

test("of a build the server's scripts alone are narrowed", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-chunks-"));
  const code = `"…${".".repeat(100)}"`;
  const files = ["server/chunks/ssr/[a]__b._.js", "server/app/page.js", "server/words.json", "static/a.js"];
  try {
    for (const file of files) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), code);
    }
    narrowChunks(folder);
    const isNarrow = files.map((file) => readFileSync(path.join(folder, file), "utf8").includes("\\u2026"));
    expect(isNarrow).toEqual([true, true, false, false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

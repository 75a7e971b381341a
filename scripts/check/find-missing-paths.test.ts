import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { findMissingPaths, findUnlistedRooms } from "./find-missing-paths.ts";

let folder = "";

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a path in backticks that does not exist is found, with its document and line", () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-docs-"));
  for (const name of ["docs", "server/jobs"]) mkdirSync(path.join(folder, name), { recursive: true });
  writeFileSync(path.join(folder, "server", "jobs", "claim.ts"), "");
  writeFileSync(
    path.join(folder, "README.md"),
    "`server/jobs/claim.ts`, `server/jobs/`, `image/png`, `/jobs`, `a b.ts`\n",
  );
  writeFileSync(path.join(folder, "docs", "guide.md"), "fine\n`server/jobs/gone` and `gone.config.ts`\n");
  expect(findMissingPaths(folder)).toEqual([
    { document: path.join("docs", "guide.md"), line: 2, path: "server/jobs/gone" },
    { document: path.join("docs", "guide.md"), line: 2, path: "gone.config.ts" },
  ]);
});

test("pictures and links of any document of the root are looked for beside it; addresses are not", () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-docs-"));
  mkdirSync(path.join(folder, "docs"));
  writeFileSync(path.join(folder, "docs", "a.webp"), "");
  writeFileSync(
    path.join(folder, "CONTRIBUTING.md"),
    "![A](docs/a.webp), ![B](docs/b.webp), [C](https://example.org/c.webp), [D](#d)\n",
  );
  writeFileSync(path.join(folder, "docs", "guide.md"), "![A](a.webp) ![B](b.webp)\n");
  expect(findMissingPaths(folder)).toEqual([
    { document: "CONTRIBUTING.md", line: 1, path: "docs/b.webp" },
    { document: path.join("docs", "guide.md"), line: 1, path: path.join("docs", "b.webp") },
  ]);
});

test("what a build or a run makes may be there or not", () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-docs-"));
  for (const name of ["docs", ".data"]) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, ".gitignore"), ".data/\n*.log\n");
  writeFileSync(path.join(folder, "docs", "guide.md"), "`.data/files` and `docs/gone`\n");
  expect(findMissingPaths(folder)).toMatchObject([{ path: "docs/gone" }]);
});

test("each room has a line in the architecture, in the order of the folders", () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-docs-"));
  for (const name of [
    "docs",
    "server/db/schema",
    "server/jobs",
    "server/queue",
    "server/static",
    "worker/base",
  ])
    mkdirSync(path.join(folder, name), { recursive: true });
  for (const name of ["server/db/schema/a", "server/jobs/index", "server/queue/index", "worker/base/index"])
    writeFileSync(path.join(folder, `${name}.ts`), "");
  const write = (...rooms: string[]) =>
    writeFileSync(
      path.join(folder, "docs", "architecture.md"),
      rooms.map((room) => `| \`${room}/\` | words with \`server/jobs/\` |`).join("\n"),
    );
  write("app", "server/db", "server/jobs", "server/queue", "worker", "worker/base");
  expect(findUnlistedRooms(folder)).toEqual([]);
  write("server/db", "server/queue", "worker/base");
  expect(findUnlistedRooms(folder)).toEqual(["server/jobs/"]);
  write("server/jobs", "server/db", "server/queue", "worker/base");
  expect(findUnlistedRooms(folder)).toEqual(["server/jobs/"]);
});

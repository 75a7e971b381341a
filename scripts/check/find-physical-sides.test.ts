import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { findPhysicalSides } from "./find-physical-sides.ts";

let folder = "";

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function find(file: string, text: string) {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-sides-"));
  mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
  return findPhysicalSides(folder).map(({ line, instead }) => `${line} ${instead}`);
}

test.each([
  ['<p className="ml-2">', ["1 ms"]],
  ['<p className="flex -mr-1.5 wide:pl-4">', ["1 me", "1 ps"]],
  ['<p className="absolute top-0 right-[calc(1px)] left-0!">', ["1 inset-e", "1 inset-s"]],
  [
    '\n<p className={cx("border-l border-line", isLast && "rounded-tr-card text-right")}>',
    ["2 border-s", "2 rounded-se", "2 text-end"],
  ],
])("in %s the sides are found", (text, sides) => {
  expect(find("app/gallery/tile.tsx", text)).toEqual(sides);
});

test.each([
  '<p className="ms-2 pe-4 inset-s-0 border-s text-end">',
  '<p className="left-1/2 -translate-x-1/2">',
  "const rect = { left: 0, right: 10 };",
  "// the button at the right-hand side",
  '<p className="border-line rounded-card text-lg">',
])("%s is fine", (text) => {
  expect(find("app/gallery/tile.tsx", text)).toEqual([]);
});

test("a place on a picture has a left and a right", () => {
  expect(find("app/edit/overlay.tsx", '<canvas className="absolute left-0">')).toEqual([]);
});

test("properties of a style sheet are found", () => {
  expect(
    find("app/styles.css", ".a {\n  margin-left: 4px;\n  border-right-color: red;\n  left: 0;\n}"),
  ).toEqual(["2 margin-inline-start", "3 border-inline-end"]);
});

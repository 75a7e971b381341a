import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findRoomCircles } from "./find-room-circles.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-rooms-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, ...imports: readonly string[]): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), imports.map((one) => `import ${one};\n`).join(""));
}

test("two rooms that import each other are found, with the fewer imports of both", () => {
  write("app/jobs/list.tsx", '{ useForm } from "../create/form.ts"');
  write("app/create/form.ts", '{ rows } from "../jobs/rows.ts"');
  write("app/create/plan.ts", 'type { Row } from "../jobs/rows.ts"');
  write("app/jobs/rows.ts");
  expect(findRoomCircles(folder)).toEqual([
    {
      rooms: ["app/create", "app/jobs"],
      imports: [{ file: "app/jobs/list.tsx", target: "app/create/form.ts" }],
    },
  ]);
});

test("a circle through a third room, by a type or a lazy import, is one", () => {
  write("app/gallery/tile.tsx", 'type { Item } from "../wardrobe/items.ts"');
  write("app/wardrobe/items.ts", '{ studio } from "../studio/state.ts"');
  write("app/studio/state.ts", '"../uploads/send.ts"');
  writeFileSync(
    path.join(folder, "app/studio/state.ts"),
    'const load = () => import("../gallery/tile.tsx");\n',
  );
  expect(findRoomCircles(folder).map(({ rooms }) => rooms)).toEqual([
    ["app/gallery", "app/wardrobe", "app/studio"],
  ]);
});

test("imports in one direction, inside a room, and of tests are none", () => {
  write("app/create/form.ts", '{ a } from "../ui/a.ts"', '{ b } from "./carried/b.ts"');
  write("app/create/carried/b.ts", '{ form } from "../form.ts"');
  write("app/ui/a.ts");
  write("app/ui/a.test.ts", '{ form } from "../create/form.ts"');
  expect(findRoomCircles(folder)).toEqual([]);
});

test("a file beside the rooms is a room of its own", () => {
  write("server/services.ts", '{ db } from "./db/index.ts"');
  write("server/db/index.ts", '{ kinds } from "../engines.ts"');
  write("server/engines.ts");
  expect(findRoomCircles(folder)).toEqual([]);
  write("server/engines.ts", '{ db } from "./db/index.ts"');
  expect(findRoomCircles(folder)).toHaveLength(1);
});

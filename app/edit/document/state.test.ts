import { expect, test } from "vitest";
import type { EditState } from "@atelier/server/edits";
import type { Mark, Stroke } from "../mask/marks.ts";
import { toSelection } from "../mask/selection.ts";
import {
  decodeEdit,
  encodedEdit,
  encodeEdit,
  encodeStorable,
  historyOf,
  mergeEdits,
  newEdit,
  withMarks,
  withStep,
  withVersion,
  workOf,
} from "./state.ts";
import { foldMarks } from "./stored-marks.ts";
import { placeVersions } from "./versions.ts";

const stroke: Stroke = {
  mode: "paint",
  sizePx: 48,
  points: Array.from({ length: 3_000 }, (_, at) => ({ x: 100 + at * 0.5, y: 80.25 - at * 0.125 })),
};
const dot: Stroke = { mode: "erase", sizePx: 4, points: [{ x: 3, y: 4 }] };
const grey = Uint8Array.from({ length: 640 * 480 }, (_, at) => (at % 640 < 200 ? 255 : 0));
const selection = toSelection([grey], { widthPx: 640, heightPx: 480 }, [{ x: 5, y: 6, mode: "include" }]);
const noPicture = () => Promise.reject(new Error("no picture"));
const edit = withMarks(newEdit("base"), "base", [selection, stroke, dot]);

test("marks of all kinds come back as they were, and a long stroke takes few bytes", async () => {
  expect(encodedEdit(edit)).toBeNull();
  const state = await encodeEdit(edit);
  expect(encodedEdit(edit)).toEqual(state);
  const text = JSON.stringify(state);
  expect(text.length).toBeLessThan(20_000);
  const read = await decodeEdit(JSON.parse(text), noPicture);
  expect(read).toEqual(edit);
  expect(workOf(await encodeEdit(read))).toBe(workOf(state));
});

test("marks that became a picture are read as its selection, with what was made on top of them", async () => {
  const [first, second, third] = [stroke, { ...dot, sizePx: 9 }, { ...dot, sizePx: 7 }];
  const picture = { mode: "picture", imageId: "mask", widthPx: 640, heightPx: 480 } as const;
  foldMarks([first, second], picture);
  const state = await encodeEdit(withMarks(edit, "base", [first, second, third]));
  expect(state).toMatchObject({ maskIds: ["mask"], marks: { base: [picture, { sizePx: 7 }] } });
  const before = await encodeEdit(withMarks(edit, "base", [first]));
  expect(before).toMatchObject({ maskIds: [], marks: { base: [{ mode: "paint" }] } });
  const read = await decodeEdit(state, () => Promise.resolve({ ...selection, clicks: [] }));
  expect(read.marks["base"]).toEqual([{ ...selection, clicks: [] }, third]);
  expect(await encodeEdit(read)).toEqual(state);
  const away = await decodeEdit(state, noPicture);
  expect([away.marks["base"], await encodeEdit(away)]).toEqual([[third], state]);
});

test("what was undone comes back with the edit, and is brought back in its order", async () => {
  const undo = { type: "undo" } as const;
  const undone = withStep(withStep(edit, undo), undo);
  const state = await encodeEdit(undone);
  expect(encodedEdit(undone)).toEqual(state);
  const read = await decodeEdit(JSON.parse(JSON.stringify(state)), noPicture);
  expect(read).toEqual(undone);
  const redone = withStep(withStep(read, { type: "redo" }), { type: "redo" });
  expect(historyOf(redone)).toEqual({ marks: [selection, stroke, dot], undone: [] });
  // A new mark ends it, and an edit of which nothing was undone says nothing of it.
  const anew = withStep(read, { type: "add", mark: dot });
  expect(historyOf(anew)).toEqual({ marks: [selection, dot], undone: [] });
  expect(await encodeEdit(anew)).not.toHaveProperty("undone");
  expect(workOf(state)).toBe(workOf(await encodeEdit({ ...undone, undone: {} })));
});

test.each([
  ["of marks that an older page has changed since", (state: EditState) => ({ ...state, marks: {} })],
  [
    "with a mark of a later version among it",
    ({ undone, ...state }: EditState) => ({
      ...state,
      undone: {
        base: { after: 2, marks: [{ mode: "of a later version" }, ...(undone?.["base"]?.marks ?? [])] },
      },
    }),
  ],
])("what was undone is let go %s", async (_name, change) => {
  const state = await encodeEdit(withStep(edit, { type: "undo" }));
  expect((await decodeEdit(state, noPicture)).undone).toEqual({ base: [dot] });
  expect((await decodeEdit(change(state), noPicture)).undone).toEqual({});
});

test("of an edit that takes too much space what was undone is left out, and no mask becomes a picture for it", async () => {
  let seed = 1;
  const next = () => (seed = (seed * 48_271) % 2_147_483_647);
  const wild = (count: number): Stroke => ({
    ...stroke,
    points: Array.from({ length: count }, () => ({ x: next() % 4_000, y: next() % 4_000 })),
  });
  const large = [wild(26_000), wild(26_000)];
  const full = withMarks(newEdit("base"), "base", large);
  const state = await encodeStorable(full);
  expect(state.marks["base"]).toHaveLength(2);
  const more = withStep(withStep(full, { type: "add", mark: wild(8_000) }), { type: "undo" });
  expect(JSON.stringify(await encodeEdit(more)).length).toBeGreaterThan(700_000);
  expect(await encodeStorable(more)).toEqual(state);
});

test("a point with the pressure of a pen keeps it, and so does a kind of mark with any shape", async () => {
  const pressed = {
    ...dot,
    points: [{ x: 3, y: 4, pressure: 0.5 }],
    tiles: [{ bytes: Uint8Array.of(1, 2, 3) }],
  };
  // Safe cast: what is written depends on the values alone.
  const marks = [pressed as unknown as Mark];
  const read = await decodeEdit(
    JSON.parse(JSON.stringify(await encodeEdit(withMarks(edit, "base", marks)))),
    noPicture,
  );
  expect(read.marks["base"]).toEqual(marks);
});

test("a mark of an unknown kind, and one that cannot be read, stay in their places and cost no others", async () => {
  const state = await encodeEdit(edit);
  const [first, second] = state.marks["base"] ?? [];
  if (!first || !second) throw new Error("no marks");
  const later = { mode: "of a later version", form: [1] };
  const broken = { ...first, bits: { $deflated: "bm90IGRlZmxhdGVk" } };
  const stored = { ...state, marks: { base: [first, later, broken, second] } };
  const read = await decodeEdit(stored, noPicture);
  expect(read.marks["base"]).toEqual([selection, stroke]);
  expect((await encodeEdit(read)).marks["base"]).toEqual(stored.marks.base);
});

test("of two windows' work the chosen masks stay, and the versions and masks that only one has", () => {
  const mine = withMarks(withVersion(edit, { imageId: "mine", parentId: "base" }), "mine", [dot]);
  const theirs = withVersion(withMarks(edit, "base", [dot]), { imageId: "theirs", parentId: "base" });
  const kept = mergeEdits(mine, theirs);
  expect(kept.versions.map(({ imageId }) => imageId)).toEqual(["base", "mine", "theirs"]);
  expect(kept.marks["base"]).toEqual([selection, stroke, dot]);
  const taken = mergeEdits(theirs, mine);
  expect(taken.marks).toEqual({ base: [dot], mine: [dot] });
});

test("what was undone stays with the masks that it was undone from", () => {
  const mine = withMarks(withVersion(edit, { imageId: "v", parentId: "base" }), "v", [dot]);
  const [here, there] = [
    { ...mine, undone: { v: [stroke] } },
    { ...edit, undone: { v: [selection], base: [dot] } },
  ];
  expect(mergeEdits(there, here)).toMatchObject({
    marks: { v: [dot] },
    undone: { v: [stroke], base: [dot] },
  });
  expect(mergeEdits(here, there).undone).toEqual({ v: [stroke] });
  expect(mergeEdits(there, edit).undone).toEqual(there.undone);
});

test("a version that is made of an older one begins a branch", () => {
  const versions = [
    { imageId: "a", parentId: null },
    { imageId: "b", parentId: "a" },
    { imageId: "c", parentId: "b" },
    { imageId: "d", parentId: "a" },
    { imageId: "e", parentId: "b" },
  ];
  const placed = placeVersions({ versions, currentId: "e" });
  expect(placed.map(({ imageId, number, branchOf }) => [imageId, number, branchOf])).toEqual([
    ["a", 1, null],
    ["b", 2, null],
    ["c", 3, null],
    ["e", 5, 2],
    ["d", 4, 1],
  ]);
  expect(placed.filter(({ isOnPath }) => isOnPath).map(({ imageId }) => imageId)).toEqual(["a", "b", "e"]);
});

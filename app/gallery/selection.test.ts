import { describe, expect, test } from "vitest";
import { keepListed, rangeBetween, withChange } from "./selection.tsx";
import { tileKey } from "./stack.tsx";

describe("keep listed", () => {
  const picture = (stackId: string, day: number) => ({
    id: stackId,
    stackId,
    stackSize: 1,
    createdAt: `2026-11-0${day}T00:00:00.000Z`,
    starred: false,
  });
  const [newer, first, last, older] = [picture("n", 9), picture("a", 7), picture("b", 3), picture("o", 1)];
  const part = { images: [first, last], isFromNewest: false, isToOldest: false, search: "" };
  const choose = (...images: readonly ReturnType<typeof picture>[]) => ({
    search: "",
    images: new Map(images.map((image) => [image.stackId, image])),
  });
  const kept = (chosen: ReturnType<typeof choose>, now = part) => [...keepListed(chosen, now).images.keys()];

  test("a selection loses what is no longer listed, and keeps what is not read any more", () => {
    const gone = picture("gone", 5);
    expect(kept(choose(newer, first, gone, older))).toEqual(["n", "a", "o"]);
    expect(kept(choose(newer, older), { ...part, isFromNewest: true, isToOldest: true })).toEqual([]);
  });

  test("of photos of one second those beyond the ends of the list stay chosen, by their ids", () => {
    const burst = ["d", "c", "b", "a"].map((id) => picture(id, 5));
    const [newest, second, third] = burst;
    if (!newest || !second || !third) throw new Error("The burst has four.");
    const read = { ...part, images: [second, third] };
    expect(kept(choose(...burst), read)).toEqual(["d", "c", "b", "a"]);
    expect(kept(choose(...burst), { ...read, isFromNewest: true })).toEqual(["c", "b", "a"]);
    expect(kept(choose(...burst), { ...read, isToOldest: true })).toEqual(["d", "c", "b"]);
    expect(kept(choose(...burst), { ...read, images: [newest, third] })).toEqual(["d", "b", "a"]);
  });

  test("a picture that is not read has what it was given, and no other changes", () => {
    const [star, unstar] = [() => ({ starred: true }), () => ({ starred: false })];
    const before = choose(newer, first, older);
    const chosen = withChange(before, new Set(["n", "o"]), star);
    const after = keepListed(chosen, part);
    expect([...after.images.values()].map(({ starred }) => starred)).toEqual([true, false, true]);
    expect(after.images.get("a")).toBe(first);
    expect(withChange(after, new Set(["n"]), unstar).images.get("n")).toEqual(newer);
    expect(withChange(before, new Set(["elsewhere"]), star)).toBe(before);
  });

  test("of a stack that is shown picture by picture, as in the trash, each is chosen alone", () => {
    const [clicked, other] = ["clicked", "other"].map((id) => ({ ...first, id, stackSize: null }));
    if (!clicked || !other) throw new Error("There are two.");
    const chosen = { search: "", images: new Map([[tileKey(clicked), clicked]]) };
    const after = keepListed(chosen, {
      ...part,
      images: [clicked, other],
      isFromNewest: true,
      isToOldest: true,
    });
    expect([...after.images.values()]).toEqual([clicked]);
    expect(tileKey(other)).not.toBe(tileKey(clicked));
    // Where it shows stacks, another picture may come on top of a chosen one.
    const now = { ...part, images: [{ ...first, id: "newer" }] };
    expect([...keepListed(choose(first), now).images.values()]).toEqual(now.images);
  });

  test("in another order what is not read stays chosen until all of the list is", () => {
    const [search, ordered] = ["order:rated", { ...part, images: [last, first], isFromNewest: true }];
    const chosen = { ...choose(newer, first, older), search };
    expect(kept(chosen, { ...ordered, search })).toEqual(["n", "a", "o"]);
    expect(kept(chosen, { ...ordered, search, isToOldest: true })).toEqual(["a"]);
    expect(kept(chosen, { ...ordered, search: "order:oldest" })).toEqual(["a"]);
  });

  test("a selection of another search keeps only what this one finds", () => {
    expect(kept(choose(newer, first, older), { ...part, search: "is:starred" })).toEqual(["a"]);
  });

  test("a selection stays while nothing is read, as after a jump that failed", () => {
    const unread = { images: [], isFromNewest: true, isToOldest: true, search: null };
    const chosen = choose(newer, first);
    expect(keepListed(chosen, unread)).toBe(chosen);
    expect(kept(chosen, { ...part, images: [], isFromNewest: true, isToOldest: true })).toEqual([]);
  });

  test("a selection has the pictures as they are now, and is the same object when none changed", () => {
    const chosen = choose(last, first);
    expect(keepListed(chosen, part)).toBe(chosen);
    const changed = { ...first };
    expect(keepListed(chosen, { ...part, images: [changed, last] }).images.get("a")).toBe(changed);
  });
});

describe("selection", () => {
  const items = ["a", "b", "c", "d"].map((id) => ({ id }));

  test("a range holds both ends, whichever comes first", () => {
    expect(rangeBetween(items, "b", "d")).toEqual(["b", "c", "d"]);
    expect(rangeBetween(items, "d", "b")).toEqual(["b", "c", "d"]);
  });

  test("a range from a picture that is gone is the clicked picture alone", () => {
    expect(rangeBetween(items, "z", "c")).toEqual(["c"]);
  });
});

import { describe, expect, test } from "vitest";
import { moveItem, positionAt } from "../ui/reorder.ts";
import { nextInLine } from "./waiting-line.tsx";

describe("place at", () => {
  test("D8 a row is dragged to any place, the first and the last too", () => {
    const middles = [10, 30, 50];
    expect(positionAt(middles, 0, 2)).toBe(0);
    expect(positionAt(middles, 40, 0)).toBe(1);
    expect(positionAt(middles, 60, 0)).toBe(2);
    expect(positionAt(middles, 31, 1)).toBe(1);
    expect(positionAt(middles, 29, 1)).toBe(1);
  });
});

describe("waiting line", () => {
  test("D8 an item goes to another place and the others close up", () => {
    expect(moveItem(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moveItem(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
    expect(moveItem(["a"], 3, 0)).toEqual(["a"]);
  });

  test("D8 a job is put before the next one of its own line", () => {
    const job = (id: string, queue: string) => ({ id, queue, tier: "normal" });
    const jobs = [job("a", "gpu"), job("b", "cpu"), job("c", "gpu")];
    expect(nextInLine(jobs, "a")).toBe("c");
    expect(nextInLine(jobs, "b")).toBeNull();
    expect(nextInLine([...jobs, { ...job("d", "cpu"), tier: "high" }], "b")).toBeNull();
  });
});

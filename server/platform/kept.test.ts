import { expect, test } from "vitest";
import { closeKept, keepNewest, keptBy } from "./kept.ts";

test("what is kept is made once for each owner, and made again after the owner was closed", async () => {
  let made = 0;
  const numberOf = keptBy((_owner: object) => (made += 1));
  const [first, second] = [{}, {}];
  expect([numberOf(first), numberOf(first), numberOf(second)]).toEqual([1, 1, 2]);
  await closeKept(first);
  expect([numberOf(first), numberOf(second)]).toEqual([3, 2]);
});

test("all that is kept is closed, once, also after one that fails, and owners one after the other", async () => {
  const closed: string[] = [];
  const keep = (name: string, close: () => void | Promise<void>) => keptBy((_owner: object) => name, close);
  const [services, db] = [{}, {}];
  keep("slow", async () => {
    await new Promise((resolve) => setImmediate(resolve));
    closed.push("slow");
  })(services);
  keep("fails", () => {
    closed.push("fails");
    throw new Error("not closed");
  })(services);
  keep("rejects", () => Promise.reject(new Error("not closed")))(services);
  keep("fast", () => void closed.push("fast"))(services);
  keep("of the database", () => void closed.push("of the database"))(db);
  await closeKept(services, db);
  await closeKept(services, db);
  expect(closed).toEqual(["fails", "fast", "slow", "of the database"]);
});

test("of more than the most the one that was kept longest ago goes; to keep it again makes it the newest", () => {
  const values = new Map<string, number>();
  for (const name of ["a", "b", "a", "c"]) keepNewest(values, [name, values.size], 2);
  expect([...values]).toEqual([
    ["a", 2],
    ["c", 2],
  ]);
});

import { expect, test } from "vitest";
import { askAgain, mayAskForMore } from "./queries.ts";

const ready = { hasNextPage: true, isFetching: false, isFetchNextPageError: false };

test("a list asks for its next page when there is one and nothing is under way", () => {
  expect(mayAskForMore(ready)).toBe(true);
  expect(mayAskForMore({ ...ready, hasNextPage: false })).toBe(false);
  expect(mayAskForMore({ ...ready, isFetching: true })).toBe(false);
});

test("a list does not ask by itself for a page that failed", () => {
  expect(mayAskForMore({ ...ready, isFetchNextPageError: true })).toBe(false);
});

test("asking again asks for what failed", () => {
  const asked: string[] = [];
  const calls = { fetchNextPage: () => asked.push("page"), refetch: () => asked.push("list") };
  askAgain({ ...calls, isFetchNextPageError: true });
  askAgain({ ...calls, isFetchNextPageError: false });
  expect(asked).toEqual(["page", "list"]);
});

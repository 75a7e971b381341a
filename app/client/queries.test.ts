import { expect, test } from "vitest";
import { retryLoad, canLoadMore } from "./queries.ts";

const ready = { hasNextPage: true, isFetching: false, isFetchNextPageError: false };

test("a list asks for its next page when there is one and nothing is under way", () => {
  expect(canLoadMore(ready)).toBe(true);
  expect(canLoadMore({ ...ready, hasNextPage: false })).toBe(false);
  expect(canLoadMore({ ...ready, isFetching: true })).toBe(false);
});

test("a list does not ask by itself for a page that failed", () => {
  expect(canLoadMore({ ...ready, isFetchNextPageError: true })).toBe(false);
});

test("asking again asks for what failed", () => {
  const asked: string[] = [];
  const calls = { fetchNextPage: () => asked.push("page"), refetch: () => asked.push("list") };
  retryLoad({ ...calls, isFetchNextPageError: true });
  retryLoad({ ...calls, isFetchNextPageError: false });
  expect(asked).toEqual(["page", "list"]);
});

import { onlineManager, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { createQueryClient } from "./query-client.ts";

/** A list on a server whose answers leave when the test says so, each with what the list was when it was asked. */
function createList() {
  let items = ["first"];
  const waiting: (() => void)[] = [];
  return {
    read: () => {
      const seen = items;
      return new Promise<string[]>((resolve) => waiting.push(() => resolve(seen)));
    },
    change: (item: string) => {
      items = [...items, item];
    },
    answer: () => waiting.shift()?.(),
    asked: () => waiting.length,
  };
}

const queryKey = ["list"];
const tick = () => new Promise<void>((resolve) => void setImmediate(resolve));

function observe() {
  const queries = createQueryClient();
  const list = createList();
  const observer = new QueryObserver(queries, { queryKey, queryFn: list.read });
  const close = observer.subscribe(() => undefined);
  return { queries, list, close };
}

test("what changes while it is read for the first time is read again, and that read is shown meanwhile", async () => {
  const { queries, list, close } = observe();
  list.change("second");
  const done = queries.invalidateQueries({ queryKey });
  list.answer();
  await tick();
  expect(queries.getQueryData(queryKey)).toEqual(["first"]);
  expect(list.asked()).toBe(1);
  list.answer();
  await done;
  expect(queries.getQueryData(queryKey)).toEqual(["first", "second"]);
  close();
});

test("many changes during a first read lead to one more read", async () => {
  const { queries, list, close } = observe();
  const done = ["second", "third", "fourth"].map((item) => {
    list.change(item);
    return queries.invalidateQueries({ queryKey });
  });
  list.answer();
  await tick();
  expect(list.asked()).toBe(1);
  list.answer();
  await Promise.all(done);
  expect(queries.getQueryData(queryKey)).toEqual(["first", "second", "third", "fourth"]);
  expect(list.asked()).toBe(0);
  close();
});

test("a first read whose page was left counts as stale when it comes after a change", async () => {
  const { queries, list, close } = observe();
  list.change("second");
  close();
  const done = queries.invalidateQueries({ queryKey });
  list.answer();
  await done;
  expect(list.asked()).toBe(0);
  expect(queries.getQueryState(queryKey)).toMatchObject({ data: ["first"], isInvalidated: true });
});

test("what is clicked offline fails at once, and is not sent when the network is back", async () => {
  const queries = createQueryClient();
  queries.mount();
  const sent: string[] = [];
  const buy = (what: string) =>
    queries.getMutationCache().build(queries, {
      mutationFn: async () => {
        sent.push(what);
        if (!onlineManager.isOnline()) throw new Error("no network");
      },
    });
  onlineManager.setOnline(false);
  await expect(buy("offline").execute(undefined)).rejects.toThrow("no network");
  onlineManager.setOnline(true);
  await buy("online").execute(undefined);
  expect(sent).toEqual(["offline", "online"]);
  queries.unmount();
});

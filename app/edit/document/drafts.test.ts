import { beforeEach, expect, test, vi } from "vitest";
import type { Draft } from "./drafts.ts";

const rows = new Map<string, unknown>();
/** How many connections the browser has given. */
let given = 0;
let isRefusing = false;
/** How many drafts were written, or were to be while the disk is full. */
let written = 0;
let isFull = false;
let end = () => {};

function answered<Value>(result: Value, event: "success" | "error" = "success") {
  const request = Object.assign(new EventTarget(), { result, error: new Error("refused") });
  queueMicrotask(() => request.dispatchEvent(new Event(event)));
  return request;
}

/** A connection as Safari leaves it: it has no event of its end, and each further use throws. */
function connect() {
  given += 1;
  let isEnded = false;
  end = () => (isEnded = true);
  const objects = {
    put(draft: Draft) {
      written += 1;
      return isFull ? answered(null, "error") : answered(rows.set(draft.writer, draft));
    },
    delete: (writer: string) => answered(rows.delete(writer)),
    getAll: () => answered([...rows.values()]),
  };
  return Object.assign(new EventTarget(), {
    close: () => {},
    transaction() {
      if (isEnded) throw new DOMException("The database connection is closing.", "InvalidStateError");
      return { objectStore: () => objects };
    },
  });
}

const state = { versions: [{ imageId: "one" }] } as unknown as Draft["state"];
const draft = (writer: string): Draft => ({ writer, imageId: "one", revision: 0, atMs: 1, state });

beforeEach(() => {
  rows.clear();
  given = 0;
  written = 0;
  isRefusing = false;
  isFull = false;
  vi.resetModules();
  vi.stubGlobal("indexedDB", {
    open: () => (isRefusing ? answered(null, "error") : answered(connect())),
  });
});

test("a draft is kept over a connection that the browser has ended meanwhile", async () => {
  const { keepDraft, dropDraft, leftDrafts } = await import("./drafts.ts");
  expect(await keepDraft(draft("a"))).toBe(true);
  expect(await keepDraft(draft("b"))).toBe(true);
  expect(given).toBe(1);
  end();
  expect(await keepDraft(draft("c"))).toBe(true);
  expect([given, [...rows.keys()]]).toEqual([2, ["a", "b", "c"]]);
  end();
  await dropDraft("a");
  end();
  expect((await leftDrafts("one")).map(({ writer }) => writer)).toEqual(["b", "c"]);
});

test("a browser that gives no storage is asked again with the next draft", async () => {
  const { keepDraft } = await import("./drafts.ts");
  isRefusing = true;
  expect(await keepDraft(draft("a"))).toBe(false);
  isRefusing = false;
  expect(await keepDraft(draft("a"))).toBe(true);
});

test("a draft that a full disk refuses is written once, over the connection that there is", async () => {
  const { keepDraft } = await import("./drafts.ts");
  expect(await keepDraft(draft("a"))).toBe(true);
  isFull = true;
  expect(await keepDraft(draft("b"))).toBe(false);
  expect(await keepDraft(draft("c"))).toBe(false);
  expect([given, written]).toEqual([1, 3]);
  isFull = false;
  expect(await keepDraft(draft("d"))).toBe(true);
  expect([given, [...rows.keys()]]).toEqual([1, ["a", "d"]]);
});

test("those that meet the end of a connection at the same time share the next one", async () => {
  const { keepDraft, dropDraft, leftDrafts } = await import("./drafts.ts");
  expect(await keepDraft(draft("a"))).toBe(true);
  end();
  await Promise.all([keepDraft(draft("b")), keepDraft(draft("c")), dropDraft("a"), leftDrafts("one")]);
  expect([given, [...rows.keys()]]).toEqual([2, ["b", "c"]]);
});

import type { EditState } from "@atelier/server/edits";
import { beforeEach, expect, test, vi } from "vitest";
import { openEdit } from "./store.ts";

interface Stored {
  readonly imageId: string;
  readonly revision: number;
  readonly state: EditState;
}
interface Saving {
  readonly revision: number;
  readonly state: EditState;
}

/** What the server finds for the picture. */
let found: Stored | null;
/** What it has under the picture itself. */
let own: Stored | null;
const saved: number[] = [];

vi.mock("../../client/api.ts", () => ({
  newId: () => "page one",
  api: {
    edits: {
      get: { query: () => Promise.resolve(found) },
      save: {
        mutate({ revision, state }: Saving) {
          saved.push(revision);
          if (revision !== (own?.revision ?? 0))
            return Promise.reject(Object.assign(new Error("changed"), { data: { appCode: "conflict" } }));
          own = { imageId: "a", revision: revision + 1, state };
          found = own;
          return Promise.resolve({ revision: revision + 1 });
        },
      },
    },
  },
}));

const stored = (imageId: string, revision: number, ...before: readonly string[]): Stored => {
  const ids = [...before, imageId];
  const versions = ids.map((id, at) => ({ imageId: id, parentId: ids[at - 1] ?? null }));
  const rest = { marks: {}, maskIds: [], runs: [], view: null, mode: null, settings: {} };
  return { imageId: ids[0] ?? "", revision, state: { format: 1, versions, currentId: imageId, ...rest } };
};

beforeEach(() => {
  saved.splice(0);
  own = stored("a", 2);
  found = own;
});

test.each([
  ["nothing else has its picture", null],
  ["another edit has its picture as a version", stored("a", 5, "other")],
])("what is done after an edit was removed elsewhere is stored as a new one: %s", async (_, left) => {
  const store = await openEdit("a");
  own = null;
  found = left;
  store.update((edit) => ({ ...edit, settings: { remove: { grow: 4 } } }));
  await store.saveNow();
  expect(store.read().keeping).toEqual({ at: "saving" });
  await vi.waitFor(() => expect(store.read().keeping).toEqual({ at: "saved" }));
  expect(saved).toEqual([2, 0]);
});

test("a look at a picture whose edit was removed elsewhere brings none back", async () => {
  const store = await openEdit("a");
  own = null;
  found = null;
  store.look.note({ zoom: 2, centreX: 0.5, centreY: 0.5 });
  store.leaveForNow();
  await vi.waitFor(() => expect(saved).toEqual([2]));
  await store.saveNow();
  expect(store.read().keeping).toEqual({ at: "saved" });
  expect(saved).toEqual([2]);
  expect(own).toBeNull();
});

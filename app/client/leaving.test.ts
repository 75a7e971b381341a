import { afterEach, expect, test, vi } from "vitest";
import { createForm } from "../create/form.ts";
import { studio } from "../studio/state.ts";
import { draftKeys, followAccountChange, forgetDrafts } from "./leaving.ts";

test("nothing that was written stays for the next person; what is not theirs does", () => {
  const kept = new Map([
    [draftKeys.create, "words"],
    [draftKeys.studio, "words"],
    ["theme", "dark"],
  ]);
  forgetDrafts({ removeItem: (key) => void kept.delete(key) });
  expect([...kept.keys()]).toEqual(["theme"]);
});

afterEach(() => vi.unstubAllGlobals());

test("a page follows a change of the account in another tab without the code of the live stream", async () => {
  const reload = vi.fn<() => void>();
  vi.stubGlobal("window", { location: { reload } });
  const stop = followAccountChange();
  const other = new BroadcastChannel("atelier-live");
  other.postMessage({ type: "hello" });
  other.postMessage({ type: "account-changed" });
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  other.close();
  stop();
});

test.each([
  ["the create form", createForm],
  ["the studio", studio],
])("in a full or blocked storage %s takes changes and shows them", (_, store) => {
  const refuse = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  vi.stubGlobal("window", {});
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse });
  const shown: string[] = [];
  const end = store.watch(() => shown.push(store.get().prompt));
  store.set({ prompt: "a boat" });
  end();
  expect(shown).toEqual(["a boat"]);
});

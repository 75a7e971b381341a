import { expect, test } from "vitest";
import { draftKeys, forgetDrafts } from "./forget-drafts.ts";

test("nothing that was written stays for the next person; what is not theirs does", () => {
  const kept = new Map([
    [draftKeys.create, "words"],
    [draftKeys.studio, "words"],
    ["theme", "dark"],
  ]);
  forgetDrafts({ removeItem: (key) => void kept.delete(key) });
  expect([...kept.keys()]).toEqual(["theme"]);
});

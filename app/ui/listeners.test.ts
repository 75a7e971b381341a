import { expect, test } from "vitest";
import { createListeners } from "./listeners.ts";

test("each listener hears of a change with what is told of it, until it is removed", () => {
  const heard: string[] = [];
  const { notify, watch } = createListeners<[string]>();
  const forget = watch((what) => heard.push(`first ${what}`));
  watch((what) => heard.push(`second ${what}`));
  notify("a");
  forget();
  notify("b");
  expect(heard).toEqual(["first a", "second a", "second b"]);
});

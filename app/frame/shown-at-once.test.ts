import { readFile } from "node:fs/promises";
import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { shownAtOnceScript } from "./shown-at-once.ts";

const sent = await readFile(
  new URL(import.meta.resolve("next/dist/compiled/react-dom/cjs/react-dom-server.node.production.js")),
  "utf8",
);

/** The part of what React sends with a page that decides when it shows a part: by `$RT`, which the frame's first paint has set. */
function framesAndTimersOf(pageScript: string): readonly string[] {
  const asked: string[] = [];
  const page = createContext({
    performance: { now: () => 100 },
    requestAnimationFrame: () => asked.push("next frame"),
    setTimeout: (_show: unknown, ms: number) => asked.push(`in ${ms} ms`),
    $RV: { bind: () => "the parts that have come" },
    $RB: [],
  });
  const [decides = "asked by another name"] = /"number"!==typeof \$RT\?.*?\$RT\+300-a\)\)/.exec(sent) ?? [];
  runInContext(`var self=globalThis;${pageScript}$RT=performance.now();${decides}`, page);
  return asked;
}

test("what a page streams later is shown in the next frame, without it 300 ms after the frame", () => {
  expect(framesAndTimersOf("")).toEqual(["in 300 ms"]);
  expect(framesAndTimersOf(shownAtOnceScript)).toEqual(["next frame"]);
});

import { expect, test } from "vitest";
import { createRequestKey } from "./request-key.ts";

test("the same input keeps its key until it is settled; another input has its own", () => {
  const requestKey = createRequestKey();
  const first = requestKey.keyFor({ kind: "upscale", inputs: { image: "a" } });
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(requestKey.keyFor({ kind: "upscale", inputs: { image: "a" } })).toBe(first);
  requestKey.settle(first);
  expect(requestKey.keyFor({ kind: "upscale", inputs: { image: "a" } })).not.toBe(first);
});

test("an earlier request that is settled leaves the key of the present one alone", () => {
  const requestKey = createRequestKey();
  const first = requestKey.keyFor({ image: "a" });
  const second = requestKey.keyFor({ image: "b" });
  expect(second).not.toBe(first);
  requestKey.settle(first);
  expect(requestKey.keyFor({ image: "b" })).toBe(second);
});

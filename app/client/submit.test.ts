import { describe, expect, test } from "vitest";
import { createBatchTracker, createRequestKey, textWithoutPrompts } from "./submit.ts";

describe("request key", () => {
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
});

describe("text without words", () => {
  test("D8 an estimate is asked for without the words", () => {
    const text = textWithoutPrompts({
      kind: "text_to_image",
      inputs: {},
      params: { prompt: "a secret", negativePrompt: "", steps: 20 },
    });
    expect(JSON.parse(text)).toEqual({
      kind: "text_to_image",
      inputs: {},
      params: { prompt: "…", negativePrompt: "", steps: 20 },
    });
  });
});

describe("submit", () => {
  test("A4 a batch that was cut off goes on with its own keys; a settled one starts anew", () => {
    const batch = createBatchTracker();
    const first = batch.prepare([{ seed: 1 }, { seed: 2 }]);
    first.started.add(0);
    const again = batch.prepare([{ seed: 1 }, { seed: 2 }]);
    expect(again.keys).toEqual(first.keys);
    expect([...again.started]).toEqual([0]);
    expect(new Set(first.keys).size).toBe(2);
    batch.settle();
    expect(batch.prepare([{ seed: 1 }, { seed: 2 }]).keys).not.toEqual(first.keys);
  });

  test("A4 another request is another batch", () => {
    const batch = createBatchTracker();
    const { keys } = batch.prepare([{ seed: 1 }]);
    expect(batch.prepare([{ seed: 2 }]).keys).not.toEqual(keys);
  });

  test("A4 of a batch that started partly it is known how many are left, and one alone can be renewed", () => {
    const batch = createBatchTracker();
    const requests = [{ seed: 1 }, { seed: 2 }, { seed: 3 }];
    expect(batch.countUnstarted(requests)).toBeNull();
    const { keys, started } = batch.prepare(requests);
    const [first, second, third] = keys;
    started.add(0);
    expect(batch.countUnstarted(requests)).toBe(2);
    expect(batch.countUnstarted([{ seed: 1 }])).toBeNull();
    batch.renewKey(requests, 1);
    const renewed = batch.prepare(requests).keys;
    expect([renewed[0], renewed[2]]).toEqual([first, third]);
    expect(renewed[1]).not.toBe(second);
    expect(batch.countUnstarted(requests)).toBe(2);
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { forgetDrafts } from "../leaving.ts";
import { withAgreement } from "./agreement.ts";
import { createSubmission } from "./submission.ts";

interface Wish {
  readonly seed: number;
}

/** A server that makes one thing for each key. */
class Server {
  readonly made = new Map<string, { readonly id: string; readonly text: string }>();
  calls = 0;
  /** What the next calls end with: the answer is lost after the thing was made, or it is refused before. */
  ends: string[] = [];
  readonly post = async (input: Wish, key: string): Promise<{ readonly id: string }> => {
    this.calls += 1;
    const end = this.ends.shift() ?? "ok";
    if (end !== "ok" && end !== "lost") throw Object.assign(new Error("refused"), { code: end });
    const text = JSON.stringify(input);
    const known = this.made.get(key) ?? { id: `job ${this.made.size + 1}`, text };
    if (known.text !== text) throw Object.assign(new Error("another"), { code: "idempotency_mismatch" });
    this.made.set(key, known);
    if (end === "lost") throw new TypeError("fetch failed");
    return { id: known.id };
  };
}

let server: Server;
/** As one tab of a browser opens the page. */
const openTab = () => createSubmission("test", (input: Wish, key) => server.post(input, key));
const stored = new Map<string, string>();
const storage = {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, text: string) => void stored.set(key, text),
  removeItem: (key: string) => void stored.delete(key),
};

beforeEach(() => {
  server = new Server();
  stored.clear();
  vi.stubGlobal("localStorage", storage);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("A4 one thing, however often it is asked for", () => {
  test("a double click", async () => {
    const tab = openTab();
    const both = await Promise.all([tab.send([{ seed: 1 }]), tab.send([{ seed: 1 }])]);
    expect(both).toEqual([[{ id: "job 1" }], [{ id: "job 1" }]]);
    expect(server.made.size).toBe(1);
  });

  test("a lost answer, and the same again", async () => {
    const tab = openTab();
    server.ends = ["lost", "lost"];
    await expect(tab.send([{ seed: 1 }])).rejects.toThrow("fetch failed");
    await expect(tab.send([{ seed: 1 }])).rejects.toThrow("fetch failed");
    expect(await tab.send([{ seed: 1 }])).toEqual([{ id: "job 1" }]);
    // An answered wish may be wished again.
    expect(await tab.send([{ seed: 1 }])).toEqual([{ id: "job 2" }]);
  });

  test("a lost answer, a reload or another tab, and the same again", async () => {
    server.ends = ["lost"];
    await expect(openTab().send([{ seed: 1 }])).rejects.toThrow("fetch failed");
    expect(await openTab().send([{ seed: 1 }])).toEqual([{ id: "job 1" }]);
    expect(await openTab().send([{ seed: 1 }])).toEqual([{ id: "job 2" }]);
  });

  test("two tabs at once", async () => {
    const answers = await Promise.all([openTab().send([{ seed: 1 }]), openTab().send([{ seed: 1 }])]);
    expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(1);
  });

  test("a batch that was cut off goes on where it was, with equal wishes in it", async () => {
    const tab = openTab();
    const wishes = [{ seed: 1 }, { seed: 1 }, { seed: 2 }];
    server.ends = ["ok", "lost", "queue_full"];
    await expect(tab.send(wishes)).rejects.toThrow("fetch failed");
    expect(tab.countUnanswered(wishes)).toBe(2);
    expect(tab.countUnanswered([{ seed: 1 }])).toBeNull();
    const ids = (await tab.send(wishes)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(server.made.size).toBe(3);
    expect(server.calls).toBe(5);
    expect(tab.countUnanswered(wishes)).toBeNull();
    expect((await tab.send(wishes)).map(({ id }) => id)).not.toContain(ids[0]);
  });

  test("what was answered in part and then changed is not taken from the old answers", async () => {
    const tab = openTab();
    server.ends = ["ok", "lost"];
    await expect(tab.send([{ seed: 1 }, { seed: 2 }])).rejects.toThrow("fetch failed");
    await tab.send([{ seed: 3 }]);
    const again = await tab.send([{ seed: 1 }, { seed: 2 }]);
    // Their keys were kept: the same two as before.
    expect(again.map(({ id }) => id)).toEqual(["job 1", "job 2"]);
    expect(server.made.size).toBe(3);
  });

  test.each(["conflict", "idempotency_mismatch"])(
    "a key that the server refuses for ever: %s",
    async (code) => {
      const tab = openTab();
      server.ends = ["lost", code];
      await expect(tab.send([{ seed: 1 }])).rejects.toThrow("fetch failed");
      await expect(tab.send([{ seed: 1 }])).rejects.toThrow("refused");
      expect(await tab.send([{ seed: 1 }])).toEqual([{ id: "job 2" }]);
    },
  );

  test("keys are forgotten with the drafts, after a quarter of an hour, and when the storage holds nonsense", async () => {
    const loseOne = async () => {
      server.ends = ["lost"];
      await expect(openTab().send([{ seed: 1 }])).rejects.toThrow("fetch failed");
      return server.made.size;
    };
    let made = await loseOne();
    forgetDrafts(storage);
    await openTab().send([{ seed: 1 }]);
    expect(server.made.size).toBe(made + 1);
    made = await loseOne();
    vi.useFakeTimers({ now: Date.now() + 16 * 60_000, toFake: ["Date"] });
    await openTab().send([{ seed: 1 }]);
    expect(server.made.size).toBe(made + 1);
    for (const nonsense of [
      "{",
      "null",
      "[]",
      '{"0 test {}":null}',
      JSON.stringify({ [`0 test ${JSON.stringify({ seed: 1 })}`]: { key: 7, atMs: 1 } }),
    ]) {
      stored.set("atelier-unanswered", nonsense);
      await openTab().send([{ seed: 1 }]);
    }
    expect(server.made.size).toBe(made + 6);
  });

  test("a browser that blocks its storage", async () => {
    vi.stubGlobal("localStorage", undefined);
    const tab = openTab();
    server.ends = ["lost"];
    await expect(tab.send([{ seed: 9 }])).rejects.toThrow("fetch failed");
    expect(await tab.send([{ seed: 9 }])).toEqual([{ id: "job 1" }]);
  });
});

test("a price is no part of the wish: other bounds keep the key", async () => {
  const tab = openTab();
  const keys: string[] = [];
  const priced = createSubmission("test", async (input: Wish & { readonly agreed?: number }, key) => {
    keys.push(key);
    if (input.agreed !== 5) throw Object.assign(new Error("dearer"), { code: "not_agreed", details: {} });
    return { id: "job" };
  });
  await expect(priced.send([{ seed: 1 }], (input) => ({ ...input, agreed: 4 }))).rejects.toThrow("dearer");
  await priced.send([{ seed: 1 }], (input) => ({ ...input, agreed: 5 }));
  expect(new Set(keys).size).toBe(1);
  expect(tab.countUnanswered([{ seed: 1 }])).toBeNull();
});

test("a refusal without a place and price is no question", async () => {
  const refuse = async () => {
    throw Object.assign(new Error("no"), { code: "not_agreed", details: { cloud: null } });
  };
  await expect(withAgreement({ maxPriceUsd: 0 }, refuse)).rejects.toThrow("no");
  const other = async () => {
    throw Object.assign(new Error("full"), { code: "queue_full", details: { cloud: {} } });
  };
  await expect(withAgreement({ maxPriceUsd: 0 }, other)).rejects.toThrow("full");
});

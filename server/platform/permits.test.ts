import { expect, test } from "vitest";
import { createPermits, oneAtATime, type Permit } from "./permits.ts";

/** Work that ends when it is told to, in the order in which it began. */
function createLine(limits: Parameters<typeof createPermits>[0]) {
  const withPermit = createPermits(limits);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, permit: Permit) =>
    withPermit(permit, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  /** Ends this work and lets the next begin. */
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { ask, begun, end };
}

const heavy = (ownerId: string): Permit => ({ ownerId, weight: "heavy" });
const light = (ownerId: string): Permit => ({ ownerId, weight: "light" });

test("S2 a small picture waits for none of another owner's many heavy ones", async () => {
  const { ask, begun } = createLine({ slots: 2, heavySlots: 1 });
  for (let at = 0; at < 20; at += 1) void ask(`heavy ${at}`, heavy("attacker"));
  void ask("small", light("somebody"));
  await new Promise(setImmediate);
  expect(begun).toEqual(["heavy 0", "small"]);
});

test("S2 a heavy picture waits for one turn of another owner, not for all of its pictures", async () => {
  const { ask, begun, end } = createLine({ slots: 2, heavySlots: 1 });
  for (let at = 0; at < 20; at += 1) void ask(`heavy ${at}`, heavy("attacker"));
  void ask("other", heavy("somebody"));
  await new Promise(setImmediate);
  await end("heavy 0");
  expect(begun).toEqual(["heavy 0", "heavy 1"]);
  await end("heavy 1");
  expect(begun).toEqual(["heavy 0", "heavy 1", "other"]);
});

test("those that nobody invited leave slots to others, and use them again when one of theirs ends", async () => {
  const { ask, begun, end } = createLine({ slots: 3, heavySlots: 3, uninvitedSlots: 2 });
  for (let at = 0; at < 5; at += 1)
    void ask(`stranger ${at}`, { ...light(`stranger ${at}`), isUninvited: true });
  await new Promise(setImmediate);
  expect(begun).toEqual(["stranger 0", "stranger 1"]);
  void ask("invited", light("invited"));
  await new Promise(setImmediate);
  expect(begun).toEqual(["stranger 0", "stranger 1", "invited"]);
  await end("invited");
  expect(begun).toHaveLength(3);
  await end("stranger 0");
  expect(begun.at(-1)).toBe("stranger 2");
});

test("owners who wait take turns, and each one's pictures start in the order in which they came", async () => {
  const { ask, begun, end } = createLine({ slots: 1, heavySlots: 1 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) void ask(name, light(name.slice(0, 1)));
  await new Promise(setImmediate);
  for (let at = 0; at < 7; at += 1) await end(begun[at] ?? "");
  expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

test("failed work gives its slot back", async () => {
  const withPermit = createPermits({ slots: 1, heavySlots: 1 });
  const failure = new Error("no picture");
  const failed = withPermit(heavy("a"), () => Promise.reject(failure));
  const next = withPermit(heavy("b"), async () => "done");
  await expect(failed).rejects.toBe(failure);
  expect(await next).toBe("done");
});

test("D2 an owner has no more turns at once than owners may, and others take the rest", async () => {
  const { ask, begun, end } = createLine({ slots: 4, heavySlots: 4, ownerSlots: 2 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "c1"]) void ask(name, light(name.slice(0, 1)));
  await new Promise(setImmediate);
  expect(begun).toEqual(["a1", "a2", "b1", "c1"]);
  await end("b1");
  expect(begun).toHaveLength(4);
  await end("a1");
  expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3"]);
});

test("work of one key runs one after another in the order of its calls, also after a failure; other keys wait for none", async () => {
  const begun: string[] = [];
  const held = Promise.withResolvers<void>();
  const node = {};
  const first = oneAtATime(node, async () => {
    begun.push("first");
    await held.promise;
  });
  const failed = oneAtATime(node, () => {
    begun.push("second");
    return Promise.reject(new Error("no picture"));
  });
  const third = oneAtATime(node, async () => begun.push("third"));
  await oneAtATime({}, async () => begun.push("other node"));
  await oneAtATime("text", async () => begun.push("text"));
  expect(begun).toEqual(["first", "other node", "text"]);
  held.resolve();
  await first;
  await expect(failed).rejects.toThrow("no picture");
  await third;
  expect(begun.slice(3)).toEqual(["second", "third"]);
});

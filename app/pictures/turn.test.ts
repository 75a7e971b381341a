import type { ImageView } from "@atelier/server/images";
import { expect, test, vi } from "vitest";
import { watchPictures } from "./changes.ts";
import { collectTurns, holdLine, inLine, inParts, letGo, tellTurned, turnOfKey } from "./turn.tsx";

test("R turns to the right, with Shift to the left, and other keys turn nothing", () => {
  expect(["r", "R", "t", ""].map(turnOfKey)).toEqual([1, 3, null, null]);
});

test("presses add up to one turn: two halves are half a turn, and left takes right back", () => {
  const after = (...turns: readonly (1 | 3)[]) =>
    turns.reduce((before: ReturnType<typeof collectTurns> | null, by) => collectTurns(before, [], by), null)
      ?.turns;
  expect(after(1)).toBe(1);
  expect(after(3)).toBe(3);
  expect(after(1, 1)).toBe(2);
  expect(after(1, 3)).toBe(0);
  expect(after(1, 1, 1, 1)).toBe(0);
});

test("a press before the end of a turn is for what the picture becomes, by whichever of its ids, and after that for what was pressed", async () => {
  const turn = Promise.withResolvers<void>();
  const first = inLine([holdLine("a")], async () => {
    await turn.promise;
    tellTurned([{ fromId: "a", toId: "b" }], 1);
  });
  const pressed = [holdLine("a"), holdLine("other")];
  const second = inLine(pressed, async () => pressed.map(({ now }) => now));
  turn.resolve();
  await first;
  // The list shows the turned picture by now.
  const third = holdLine("b");
  expect(third).toBe(pressed[0]);
  expect(await second).toEqual(["b", "other"]);
  letGo([third]);
  const later = [holdLine("a"), holdLine("b")];
  expect(later.map(({ now }) => now)).toEqual(["a", "b"]);
  letGo(later);
});

test("a turn that failed holds up no later one", async () => {
  const first = inLine([holdLine("a")], () => Promise.reject(new Error("refused")));
  const again = [holdLine("a")];
  const second = inLine(again, async () => again[0]?.now);
  await expect(first).rejects.toThrow("refused");
  expect(await second).toBe("a");
});

test("who holds pictures that no list has hears what became of them and of their stacks, and of Undo", () => {
  // Safe cast: the fields that a turn changes.
  const held = { id: "a", stackSize: 1 } as unknown as ImageView;
  const heard: unknown[] = [];
  const stop = watchPictures((ids, change) =>
    heard.push([[...ids], change({ ...held, id: [...ids][0] ?? "" })]),
  );
  tellTurned([{ fromId: "a", toId: "b" }], 1);
  tellTurned([{ fromId: "b", toId: "a" }], -1);
  stop();
  expect(heard).toEqual([
    [["a"], { id: "b", stackSize: 2 }],
    [["b"], { id: "a", stackSize: 0 }],
  ]);
});

const tooMany = Object.assign(new Error("You have too many open jobs."), { code: "quota_exceeded" });
const ids = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);

type Start = Parameters<typeof inParts>[1]["start"];
type Follow = Parameters<typeof inParts>[1]["follow"];

/** A server that lets a user have so many open jobs, of which `others` are open already. */
function jobsServer({ openJobs, others = 0 }: { readonly openJobs: number; readonly others?: number }) {
  let open = others;
  const turned: string[] = [];
  const start = vi.fn<Start>(async (part) => {
    if (open + part.length > openJobs) throw tooMany;
    open += part.length;
    return part.map((id) => `job of ${id}`);
  });
  const follow = vi.fn<Follow>(async (part, jobIds) => {
    expect(jobIds).toEqual(part.map((id) => `job of ${id}`));
    await Promise.resolve();
    open -= part.length;
    turned.push(...part);
  });
  return { start, follow, turned };
}

test.each([{ openJobs: 200 }, { openJobs: 200, others: 190 }, { openJobs: 20 }, { openJobs: 1 }])(
  "more pictures than may be open at a time are all turned, part after part: %o",
  async (limits) => {
    const { start, follow, turned } = jobsServer(limits);
    await inParts(ids(450), { most: 200, isStopped: () => false, start, follow });
    expect(turned).toEqual(ids(450));
  },
);

test("what was turned before a refusal stays told, and a failure of another kind is not tried again", async () => {
  const { start, follow, turned } = jobsServer({ openJobs: 200 });
  start.mockImplementationOnce(start.getMockImplementation() ?? (() => Promise.resolve([])));
  start.mockRejectedValueOnce(new Error("gone"));
  const parts = { most: 200, isStopped: () => false, start, follow };
  await expect(inParts(ids(450), parts)).rejects.toThrow("gone");
  expect(turned).toEqual(ids(200));
  expect(start).toHaveBeenCalledTimes(2);
  const full = jobsServer({ openJobs: 200, others: 200 });
  await expect(inParts(ids(3), { ...parts, ...full })).rejects.toBe(tooMany);
});

test("after Undo nothing more is started", async () => {
  const { start, follow, turned } = jobsServer({ openJobs: 200 });
  await inParts(ids(450), { most: 200, isStopped: () => turned.length > 0, start, follow });
  expect(turned).toEqual(ids(200));
});

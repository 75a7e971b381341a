import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { fromNow, schema } from "../db/index.ts";
import {
  doDuties,
  type Duty,
  inTurn,
  postponeTurn,
  pruneTurns,
  readTurnFigures,
  renewTurn,
} from "./index.ts";
import { whileHeld } from "./lease.ts";
import { endTurn, readTurnWaits, takeTurn } from "./turns.ts";

const { turns } = schema;
const hourMs = 3_600_000;

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(() => opened.services.db.delete(turns));

const take = (name = "work", isForced = false) => takeTurn(opened.services, { name, isForced });

test("twenty racers take one turn: exactly one gets it, again when it is due, and at no other time", async () => {
  const { services } = opened;
  const race = async () => (await Promise.all(Array.from({ length: 20 }, () => take()))).filter(Boolean);
  const [turn, ...others] = await race();
  if (!turn) throw new Error("nobody got the turn");
  expect(others).toEqual([]);
  expect(await take("work", true)).toBeNull();
  await endTurn(services, turn, { waitMs: hourMs, isDone: true });
  expect(await race()).toEqual([]);
  const forced = await take("work", true);
  await endTurn(services, forced ?? turn, { waitMs: 0, isDone: true });
  expect(await race()).toHaveLength(1);
});

test("a clock that was set back holds up no work for as long as it was ahead, and takes none from who does it", async () => {
  const { services } = opened;
  const ahead = sql`interval '1 year'`;
  const turn = await take();
  if (!turn) throw new Error("nobody got the turn");
  await endTurn(services, turn, { waitMs: hourMs, isDone: true });
  await services.db
    .update(turns)
    .set({ beganAt: sql`${turns.beganAt} + ${ahead}`, dueAt: sql`${turns.dueAt} + ${ahead}` });
  expect(await readTurnWaits(services, ["work"])).toEqual(new Map());
  expect(await take()).not.toBeNull();
  // That process died, and the clock was set back again.
  await services.db
    .update(turns)
    .set({ beganAt: sql`${turns.beganAt} + ${ahead}`, heldUntil: sql`${turns.heldUntil} + ${ahead}` });
  const held = await take();
  expect(held).not.toBeNull();
  // This one lives, and has renewed its turn by the new time.
  await services.db.update(turns).set({ beganAt: sql`${turns.beganAt} + ${ahead}` });
  expect(await readTurnWaits(services, ["work"])).toEqual(new Map([["work", expect.any(Number)]]));
  expect(await take()).toBeNull();
  expect(held && (await renewTurn(services, held))).toBe(true);
});

test("a lease of no time is over at once, at the precision of its column", async () => {
  const rows = await opened.services.db.execute<{ early: number }>(sql`
    select count(*)::int as early from generate_series(1, 10000)
    where (${fromNow(0)})::timestamptz(3) > clock_timestamp()`);
  expect(rows).toEqual([{ early: 0 }]);
});

test("a lease is renewed while its work goes on, again after a renewal that failed, and no more after its end", async () => {
  const { log, lines } = captureLog();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const renew = vi.fn<() => Promise<void>>(() => Promise.resolve());
    renew.mockRejectedValueOnce(new Error("the database is away"));
    const ends = [() => "done", () => Promise.reject(new Error("broken"))];
    for (const [at, end] of ends.entries()) {
      const held = Promise.withResolvers<void>();
      const renewal = { name: "work", everyMs: 1_000, renew };
      const working = whileHeld({ log }, renewal, () => held.promise.then(end)).catch(String);
      vi.advanceTimersByTime(3_500);
      held.resolve();
      expect(await working).toBe(at === 0 ? "done" : "Error: broken");
      vi.advanceTimersByTime(10_000);
      expect(renew).toHaveBeenCalledTimes(3 * (at + 1));
    }
    expect(lines.filter((line) => line.includes("not renewed"))).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a lease of work that never ends is renewed no more after its longest time", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const renew = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const held = Promise.withResolvers<string>();
    const renewal = { name: "work", everyMs: 1_000, mostMs: 3_000, renew };
    const working = whileHeld({ log: opened.services.log }, renewal, () => held.promise);
    vi.advanceTimersByTime(3_000);
    expect(renew).toHaveBeenCalledTimes(3);
    vi.advanceTimersByTime(60_000);
    expect(renew).toHaveBeenCalledTimes(3);
    held.resolve("late");
    expect(await working).toBe("late");
  } finally {
    vi.useRealTimers();
  }
});

test("the turn of a dead process is taken over, and its late writes change nothing", async () => {
  const { services } = opened;
  const dead = await take();
  await services.db.update(turns).set({ heldUntil: fromNow(0) });
  const next = await take();
  if (!dead || !next) throw new Error("the turn was not taken over");
  expect(await renewTurn(services, dead)).toBe(false);
  await endTurn(services, dead, { waitMs: 0, isDone: false, error: "late" });
  expect(await renewTurn(services, next)).toBe(true);
  expect(await readTurnFigures(services)).toMatchObject([
    { name: "work", failures: 0, error: null, isRunning: true },
  ]);
});

test("work that is broken off by the end of its process counts as neither done nor failed, and is due at once", async () => {
  const { services } = opened;
  const stopping = new AbortController();
  const input = { name: "work", everyMs: hourMs, signal: stopping.signal };
  const fail = () => {
    stopping.abort();
    return Promise.reject(new Error("broken off"));
  };
  await expect(inTurn(services, input, fail)).rejects.toThrow("broken off");
  const never = { doneAgeMs: null, failedAgeMs: null, failures: 0, isRunning: false };
  expect(await readTurnFigures(services)).toMatchObject([never]);
  expect(await inTurn(services, { name: "work", everyMs: hourMs }, () => Promise.resolve("done"))).toBe(
    "done",
  );
  expect((await readTurnFigures(services))[0]?.doneAgeMs).not.toBeNull();
  expect(await inTurn(services, input, () => Promise.resolve("early"))).toBeNull();
});

test("an error with characters that no row can hold is stored all the same; turns of former work are removed", async () => {
  const { services } = opened;
  const broken: Duty = { name: "work", everyMs: 0, run: () => Promise.reject(new Error("a\0b\ud800")) };
  const unsure: Duty = { ...broken, name: "unsure", mayRun: () => Promise.reject(new Error("no store")) };
  let isLastDone = false;
  const last: Duty = { name: "last", everyMs: 0, run: () => Promise.resolve((isLastDone = true)) };
  await doDuties(services, [broken, unsure, last]);
  expect(isLastDone).toBe(true);
  expect(await readTurnFigures(services)).toMatchObject([
    { name: "work", error: "a\ufffdb\ufffd" },
    { name: "last", failures: 0 },
  ]);
  await postponeTurn(services, "work", -31 * 24 * hourMs);
  await pruneTurns(services);
  expect(await readTurnFigures(services)).toMatchObject([{ name: "last" }]);
});

test("A8 a duty that fails stops no other one, says so to admins, and rests for its own pause", async () => {
  const { log, lines } = captureLog();
  const services = { ...opened.services, log };
  const ran: string[] = [];
  const duty = (name: string, everyMs: number, run = () => Promise.resolve<unknown>(null)): Duty => ({
    name,
    everyMs,
    run: () => {
      ran.push(name);
      return run();
    },
  });
  const fail = () => services.db.execute(sql`select 1 / 0, ${"a secret"}`);
  const duties = [duty("first", 0), duty("broken", hourMs, fail), duty("last", hourMs)];
  await doDuties(services, duties);
  await doDuties(services, duties);
  expect(ran).toEqual(["first", "broken", "last", "first"]);
  expect(lines.filter((line) => line.includes("a duty failed"))).toHaveLength(1);
  const [broken] = await readTurnFigures(services);
  expect(broken).toMatchObject({ name: "broken", failures: 1, error: "division by zero", doneAgeMs: null });
  await doDuties(services, duties, { signal: AbortSignal.abort() });
  expect(ran).toHaveLength(4);
  await postponeTurn(services, "broken", 0);
  await doDuties(services, [duty("broken", hourMs)]);
  expect((await readTurnFigures(services))[0]).toMatchObject({
    name: "broken",
    failures: 0,
    isRunning: false,
  });
});

test("pauses after failures in a row double up to the longest one, in every process, and begin anew after success", async () => {
  const { services } = opened;
  const input = { name: "work", everyMs: 0, retryMs: 30_000, mostRetryMs: hourMs };
  const fail = () => Promise.reject(new Error("away"));
  const pauses: number[] = [];
  for (let failed = 0; failed < 9; failed += 1) {
    await expect(inTurn(services, { ...input, isForced: true }, fail)).rejects.toThrow("away");
    const waitMs = (await readTurnWaits(services, ["work"])).get("work") ?? 0;
    pauses.push(Math.round(waitMs / 30_000) * 30);
  }
  expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
  const idle = { ...input, isForced: true, hasTried: () => false };
  await inTurn(services, idle, () => Promise.resolve("nothing to do"));
  expect((await readTurnFigures(services))[0]).toMatchObject({ failures: 9, doneAgeMs: expect.any(Number) });
  await services.db.update(turns).set({ failures: 5_000 });
  await expect(inTurn(services, { ...input, isForced: true }, fail)).rejects.toThrow("away");
  await inTurn(services, { ...input, isForced: true }, () => Promise.resolve("done"));
  await expect(inTurn(services, input, fail)).rejects.toThrow("away");
  // Its column rounds half of a millisecond up.
  expect((await readTurnWaits(services, ["work"])).get("work")).toBeLessThan(30_001);
});

test("a duty that hangs has failed after its time, says so to admins, and lets its turn and the others go", async () => {
  const { services } = opened;
  let isLastDone = false;
  let wasTold = false;
  const hung: Duty = {
    name: "hung",
    everyMs: hourMs,
    mostMs: 200,
    run: (_, signal) => {
      signal.addEventListener("abort", () => (wasTold = true));
      return new Promise(() => {});
    },
  };
  const last: Duty = { name: "last", everyMs: 0, run: () => Promise.resolve((isLastDone = true)) };
  await doDuties(services, [hung, last]);
  expect([wasTold, isLastDone]).toEqual([true, true]);
  expect((await readTurnFigures(services)).find(({ name }) => name === "hung")).toMatchObject({
    failures: 1,
    isRunning: false,
    error: "It did not end within 0 s.",
  });
});

test("a process that stops gives back the duty in which it is, neither done nor failed, and waits for none", async () => {
  const { log, lines } = captureLog();
  const services = { ...opened.services, log };
  const stopping = new AbortController();
  const ran: string[] = [];
  const long: Duty = {
    name: "long",
    everyMs: hourMs,
    run: () => {
      ran.push("long");
      queueMicrotask(() => stopping.abort(new Error("the process stops")));
      return new Promise(() => {});
    },
  };
  const next: Duty = { name: "next", everyMs: 0, run: () => Promise.resolve(ran.push("next")) };
  await doDuties(services, [long, next], { signal: stopping.signal });
  expect(ran).toEqual(["long"]);
  const [turn] = await readTurnFigures(services);
  expect(turn).toMatchObject({ name: "long", failures: 0, isRunning: false, doneAgeMs: null, error: null });
  expect(lines.filter((line) => line.includes("a duty failed"))).toEqual([]);
  await doDuties(services, [{ ...long, run: () => Promise.resolve(ran.push("elsewhere")) }]);
  expect(ran).toEqual(["long", "elsewhere"]);
});

test("two workers do each duty once, the pause is until the next one is due, and what may not run here waits", async () => {
  const { services } = opened;
  const done: string[] = [];
  const duties = ["a", "b", "c"].map((name): Duty => {
    return { name, everyMs: 60_000, run: () => Promise.resolve(done.push(name)) };
  });
  const here: Duty = { name: "d", everyMs: hourMs, mayRun: () => Promise.resolve(false), run: () => fail() };
  const fail = () => Promise.reject(new Error("it may not run here"));
  const pauses = await Promise.all([
    doDuties(services, [...duties, here]),
    doDuties(services, [...duties, here]),
  ]);
  expect(done.toSorted()).toEqual(["a", "b", "c"]);
  for (const pauseMs of pauses) expect(pauseMs).toBeLessThanOrEqual(60_000);
  expect(await services.db.select().from(turns).where(eq(turns.name, "d"))).toEqual([]);
  await postponeTurn(services, "a", 30_000);
  expect(await doDuties(services, duties)).toBeLessThanOrEqual(30_000);
});

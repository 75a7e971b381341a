import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { doDuties, type Duty, endTurn, postponeTurn, readTurns, renewTurn, takeTurn } from "./index.ts";

const { turns } = schema;
const hourMs = 3_600_000;

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(() => opened.services.db.delete(turns));

const take = (name = "work", options: { isForced?: boolean; holdMs?: number } = {}) =>
  takeTurn(opened.services, { name, holdMs: hourMs, ...options });

test("twenty racers take one turn: exactly one gets it, again when it is due, and at no other time", async () => {
  const { services } = opened;
  const race = async () => (await Promise.all(Array.from({ length: 20 }, () => take()))).filter(Boolean);
  const [turn, ...others] = await race();
  if (!turn) throw new Error("nobody got the turn");
  expect(others).toEqual([]);
  expect(await take("work", { isForced: true })).toBeNull();
  await endTurn(services, turn, { waitMs: hourMs, error: null });
  expect(await race()).toEqual([]);
  const forced = await take("work", { isForced: true });
  await endTurn(services, forced ?? turn, { waitMs: 0, error: null });
  expect(await race()).toHaveLength(1);
});

test("the turn of a dead process is taken over, and its late writes change nothing", async () => {
  const { services } = opened;
  const dead = await take("work", { holdMs: -1 });
  const next = await take();
  if (!dead || !next) throw new Error("the turn was not taken over");
  expect(await renewTurn(services, dead, hourMs)).toBe(false);
  await endTurn(services, dead, { waitMs: 0, error: "late" });
  expect(await renewTurn(services, next, hourMs)).toBe(true);
  expect(await readTurns(services)).toMatchObject([
    { name: "work", failures: 0, error: null, isRunning: true },
  ]);
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
  const [broken] = await readTurns(services);
  expect(broken).toMatchObject({ name: "broken", failures: 1, error: "division by zero", doneAgeMs: null });
  await doDuties(services, duties, { signal: AbortSignal.abort() });
  expect(ran).toHaveLength(4);
  await postponeTurn(services, "broken", 0);
  await doDuties(services, [duty("broken", hourMs)]);
  expect((await readTurns(services))[0]).toMatchObject({ name: "broken", failures: 0, isRunning: false });
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

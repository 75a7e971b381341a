import { addJob, addOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { createTidying, type Duty, tidy } from "./tidy.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("A8 a duty that fails stops no other one, and rests for its own pause", async () => {
  const { log, lines } = captureLog();
  const ran: string[] = [];
  const duty = (name: string, everyMs: number, isBroken = false): Duty => ({
    name,
    everyMs,
    run: () => {
      ran.push(name);
      return isBroken ? Promise.reject(new Error("statement timeout")) : Promise.resolve();
    },
  });
  const duties = [duty("first", 0), duty("broken", 3_600_000, true), duty("last", 3_600_000)];
  const pass = createTidying({ ...opened.services, log }, [], duties);
  expect(await pass()).toBe(0);
  expect(await pass()).toBe(0);
  expect(ran).toEqual(["first", "broken", "last", "first"]);
  expect(lines.filter((line) => line.includes("tidying failed"))).toHaveLength(1);
  const stopped = createTidying(opened.services, [], duties);
  await stopped(AbortSignal.abort());
  expect(ran).toHaveLength(4);
});

test("A8 thousands of old events of ended jobs go in batches, those of open jobs and new ones stay", async () => {
  const { services } = opened;
  const owner = await addOwner(services);
  const [ended, open] = [await addJob(services, { owner }), await addJob(services, { owner })];
  await services.db.execute(sql`update jobs set status = 'cancelled', ended_at = now() where id = ${ended}`);
  for (const id of [ended, open])
    await services.db.execute(sql`
      insert into job_events (job_id, revision, type, status, data, created_at)
      select ${id}, 100 + i, 'progress', 'processing', '{}', now() - interval '400 days' from generate_series(1, 5001) i`);
  const count = (id: string) => services.db.$count(schema.jobEvents, sql`job_id = ${id} and revision > 100`);
  await tidy(services);
  expect([await count(ended), await count(open)]).toEqual([0, 5_001]);
  expect(await services.db.$count(schema.jobEvents, sql`job_id = ${ended}`)).toBeGreaterThan(0);
});

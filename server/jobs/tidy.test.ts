import { addJob, addOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { tidy } from "./tidy.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

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

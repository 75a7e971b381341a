import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { insertJob, readJob, readStory } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { type JobStatus, jobStatuses, schema } from "../db/index.ts";
import { amend, canFollow, transition } from "./job.ts";

const scene = openJobScene();

/** The table of design section 4, written out a second time on purpose. */
const allowed: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  pending: ["queued", "failed", "cancelled"],
  queued: ["waiting_for_engine", "pending", "failed", "cancelled"],
  waiting_for_engine: ["processing", "pending", "failed", "cancelled"],
  processing: ["completed", "pending", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
};
const pairs = jobStatuses.flatMap((from) => jobStatuses.map((to) => [from, to] as const));
const { jobs } = schema;

async function addJobIn(status: JobStatus): Promise<string> {
  const id = await insertJob(scene.services, { owner: scene.owner });
  await scene.services.db.execute(sql`update ${jobs} set status = ${status} where id = ${id}`);
  await scene.services.db.execute(
    sql`update ${schema.jobEvents} set status = ${status} where job_id = ${id}`,
  );
  return id;
}

test.each(pairs)("A11 %s -> %s happens exactly when the table allows it", async (from, to) => {
  const { services } = scene;
  const id = await addJobIn(from);
  const move = () => transition(services.db, { from: [from], to, where: sql`id = ${id}`, event: "moved" });
  expect(canFollow(from, to)).toBe(allowed[from].includes(to));
  const told = allowed[from].includes(to) ? { status: to, revision: 2 } : { code: "internal" };
  expect(await move().catch((error: unknown) => error)).toMatchObject(told);
  const job = await readJob(services, id);
  const story = await readStory(services, id);
  expect(job.status).toBe(allowed[from].includes(to) ? to : from);
  expect(story.map((line) => line.revision)).toEqual(allowed[from].includes(to) ? [1, 2] : [1]);
  expect(story.at(-1)?.status).toBe(job.status);
});

test.each(["completed", "failed", "cancelled"] as const)(
  "A11 %s is final: a guard that names another status matches nothing",
  async (status) => {
    const { services } = scene;
    const id = await addJobIn(status);
    for (const to of jobStatuses) {
      const from = jobStatuses.filter((candidate) => canFollow(candidate, to));
      if (from.length === 0) continue;
      expect(await transition(services.db, { from, to, where: sql`id = ${id}`, event: "moved" })).toBeNull();
    }
    expect(await readJob(services, id)).toMatchObject({ status, revision: 1 });
  },
);

test("A11 revision and story move together under 20 writers, each revision once", async () => {
  const { services } = scene;
  const id = await addJobIn("processing");
  const writes = Array.from({ length: 20 }, (_, writer) =>
    amend(services.db, { where: sql`id = ${id}`, set: { progress: writer / 20 }, event: "progress" }),
  );
  await Promise.all(writes);
  const story = await readStory(services, id);
  expect((await readJob(services, id)).revision).toBe(21);
  expect(story.map((line) => line.revision)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1));
});

test("A11 a statement that raises the revision without an event is found by every test", async () => {
  const { services } = scene;
  const id = await addJobIn("queued");
  const raise = (by: number) =>
    services.db.execute(sql`update ${jobs} set revision = revision + ${by} where id = ${id}`);
  await expect(raise(1)).rejects.toMatchObject({
    cause: { message: expect.stringContaining("without its events") },
  });
  const event = sql`insert into ${schema.jobEvents} (job_id, revision, type, status) values (${id}, 2, 'progress', 'pending')`;
  const withWrongStatus = services.db.transaction(async (tx) => {
    await tx.execute(sql`update ${jobs} set revision = revision + 1 where id = ${id}`);
    await tx.execute(event);
  });
  await expect(withWrongStatus).rejects.toThrow("without its events");
});

test("A11 a change that is rolled back leaves neither revision nor line", async () => {
  const { services } = scene;
  const id = await addJobIn("pending");
  const change = services.db.transaction(async (tx) => {
    await transition(tx, { from: ["pending"], to: "queued", where: sql`id = ${id}`, event: "queued" });
    throw new Error("rolled back");
  });
  await expect(change).rejects.toThrow("rolled back");
  expect(await readJob(services, id)).toMatchObject({ status: "pending", revision: 1 });
  expect(await readStory(services, id)).toHaveLength(1);
});

test("A11 ten racers to different ends: one wins, the others learn that they lost", async () => {
  const { services } = scene;
  const id = await addJobIn("processing");
  const ends = (["completed", "failed", "cancelled"] as const).flatMap((to) => [to, to, to, to]);
  const results = await Promise.all(
    ends.map((to) =>
      transition(services.db, { from: ["processing"], to, where: sql`id = ${id}`, event: to }),
    ),
  );
  const winners = results.filter((job) => job !== null);
  expect(winners).toHaveLength(1);
  expect(await readJob(services, id)).toMatchObject({ status: winners[0]?.status, revision: 2 });
});

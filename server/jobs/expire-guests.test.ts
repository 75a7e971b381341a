import { addImage, addNode, insertJob } from "@atelier/testing/jobs";
import { addGuest, addUser, listObjects } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { cancel } from "./cancel.ts";
import { expireGuests } from "./cleanup.ts";
import { tidy } from "./sweep.ts";

const { users, sessions, jobs, images } = schema;
let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const daysAgo = (days: number) => sql`now() - ${days} * interval '1 day'`;

/** A guest or an account that was made and last visited so long ago, with a picture and a job that has it as input. */
async function addVisitor(isGuest: boolean, { madeDays = 90, visitDays = 31 } = {}) {
  const { services } = opened;
  const userId = await (isGuest ? addGuest(services) : addUser(services));
  const imageId = await addImage(services, userId);
  const jobId = await insertJob(services, { owner: { userId, imageId, isGuest: false } });
  await services.db
    .update(users)
    .set({ createdAt: daysAgo(madeDays) })
    .where(eq(users.id, userId));
  const session = { id: newId(), token: newId(), userId, expiresAt: daysAgo(-1) };
  await services.db.insert(sessions).values({ ...session, updatedAt: daysAgo(visitDays) });
  return { userId, imageId, end: () => cancel(services, { ownerId: userId, id: jobId }) };
}

const rowsOf = async (userId: string) => {
  const { db } = opened.services;
  return [
    await db.$count(users, eq(users.id, userId)),
    await db.$count(jobs, eq(jobs.ownerId, userId)),
    await db.$count(images, eq(images.ownerId, userId)),
  ];
};

test("guests who did not come back go with their pictures, jobs and objects, and nobody else does", async () => {
  const { services } = opened;
  const gone = await addVisitor(true);
  const visiting = await addVisitor(true, { visitDays: 29 });
  const fresh = await addVisitor(true, { madeDays: 29, visitDays: 29 });
  const account = await addVisitor(false);
  const busy = await addVisitor(true);
  for (const { end } of [gone, visiting, fresh, account]) await end();
  expect(await expireGuests(services)).toEqual([gone.userId]);
  expect(await rowsOf(gone.userId)).toEqual([0, 0, 0]);
  for (const { userId } of [visiting, fresh, account, busy]) expect(await rowsOf(userId)).toEqual([1, 1, 1]);
  const objects = await listObjects(services);
  expect(objects.filter((key) => key.includes(gone.userId))).toEqual([]);
  expect(objects.filter((key) => key.includes(busy.userId))).toHaveLength(3);
  await busy.end();
  expect(await expireGuests(services)).toEqual([busy.userId]);
});

test("twenty passes at once remove a guest once, and none of them fails", async () => {
  const gone = await addVisitor(true);
  await gone.end();
  const passes = await Promise.all(Array.from({ length: 20 }, () => expireGuests(opened.services)));
  expect(passes.flat()).toEqual([gone.userId]);
});

test("a guest who submits at the moment of the removal keeps all or is gone, never half", async () => {
  const { services } = opened;
  for (let round = 0; round < 10; round += 1) {
    const { userId, imageId, end } = await addVisitor(true);
    await end();
    const [removed, submitted] = await Promise.allSettled([
      expireGuests(services),
      insertJob(services, { owner: { userId, imageId, isGuest: false } }),
    ]);
    const isKept = submitted.status === "fulfilled";
    expect(removed).toMatchObject({ status: "fulfilled", value: isKept ? [] : [userId] });
    expect(await rowsOf(userId)).toEqual(isKept ? [1, 2, 1] : [0, 0, 0]);
    await services.db.delete(jobs).where(eq(jobs.ownerId, userId));
    await expireGuests(services);
  }
});

test("what nobody asks for any more is forgotten: keys, ended sessions, counters, ended workers", async () => {
  const { services } = opened;
  const { db } = services;
  const ownerId = await addUser(services);
  for (const days of [29, 31]) {
    const key = { ownerId, key: `${days}`, requestSha256: "r", jobId: newId() };
    await db.insert(schema.idempotencyKeys).values({ ...key, createdAt: daysAgo(days) });
    const nodeId = await addNode(services, { state: days === 31 ? "gone" : "lost" });
    await db
      .update(schema.nodes)
      .set({ name: `${days}`, endedAt: daysAgo(days) })
      .where(eq(schema.nodes.id, nodeId));
  }
  await addNode(services);
  await db.delete(sessions);
  await db.delete(schema.rateLimits);
  for (const hours of [-1, 1]) {
    const session = { id: newId(), token: `${hours}`, userId: ownerId };
    await db.insert(sessions).values({ ...session, expiresAt: sql`now() - ${hours} * interval '1 hour'` });
    const lastRequest = Date.now() - 86_400_000 - hours * 3_600_000;
    await db.insert(schema.rateLimits).values({ id: newId(), key: `${hours}`, count: 1, lastRequest });
  }
  await tidy(services);
  expect((await db.select().from(schema.idempotencyKeys)).map(({ key }) => key)).toEqual(["29"]);
  expect((await db.select().from(sessions)).map(({ token }) => token)).toEqual(["-1"]);
  expect((await db.select().from(schema.rateLimits)).map(({ key }) => key)).toEqual(["-1"]);
  const states = (await db.select().from(schema.nodes)).map(({ state }) => state);
  expect(states.sort()).toEqual(["active", "lost"]);
});

test("guests that cannot be removed now do not keep the others", async () => {
  const { services } = opened;
  const { db } = services;
  const ids: string[] = [];
  for (let count = 0; count < 22; count += 1) ids.push(await addGuest(services));
  await db
    .update(users)
    .set({ createdAt: daysAgo(90) })
    .where(inArray(users.id, ids));
  const [last = "", ...held] = ids.toSorted().toReversed();
  await db.transaction(async (tx) => {
    // As if another worker was about to remove them.
    await tx.select().from(users).where(inArray(users.id, held)).for("update");
    expect(await expireGuests(services)).toEqual([last]);
  });
  expect(await expireGuests(services)).toHaveLength(20);
  expect(await expireGuests(services)).toHaveLength(1);
});

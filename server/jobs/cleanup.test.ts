import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { eq, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addImage,
  addJob,
  addNode,
  addOwner,
  insertJob,
  localOffers,
  readJob,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { addGuest, addUser, listObjects } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { type Retention, schema } from "../db/index.ts";
import { changeImage, storeOutput } from "../images/index.ts";
import { pruneEnded } from "../nodes/index.ts";
import { AppError, newId } from "../platform/index.ts";
import { cancel } from "./cancel.ts";
import {
  ack,
  expireEphemeral,
  expireGuests,
  noteAnswer,
  noteServed,
  pruneEvents,
  pruneKeys,
  pruneSignIns,
} from "./cleanup.ts";
import { fail } from "./fail.ts";
import { claim, complete, start } from "./claimed.ts";

describe("expire guests", () => {
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
    for (const { userId } of [visiting, fresh, account, busy])
      expect(await rowsOf(userId)).toEqual([1, 1, 1]);
    const objects = await listObjects(services);
    expect(objects.filter((key) => key.includes(gone.userId))).toEqual([]);
    expect(objects.filter((key) => key.includes(busy.userId))).toHaveLength(3);
    await busy.end();
    expect(await expireGuests(services)).toEqual([busy.userId]);
  });

  test("nobody goes early because the clock of the database was set ahead", async () => {
    const { services } = opened;
    const guest = await addVisitor(true, { madeDays: 50, visitDays: 40 });
    await guest.end();
    const seen = { beganAt: daysAgo(60), seenAt: daysAgo(40), missedMs: 0 };
    await services.db.insert(schema.clockStretches).values(seen);
    expect(await expireGuests(services)).toEqual([]);
    const ofGuest = eq(sessions.userId, guest.userId);
    await services.db
      .update(sessions)
      .set({ expiresAt: daysAgo(10) })
      .where(ofGuest);
    await pruneSignIns(services);
    expect(await services.db.$count(sessions, ofGuest)).toBe(1);
    await services.db.update(schema.clockStretches).set({ seenAt: daysAgo(0) });
    await pruneSignIns(services);
    expect(await services.db.$count(sessions, ofGuest)).toBe(0);
    expect(await expireGuests(services)).toEqual([guest.userId]);
    await services.db.delete(schema.clockStretches);
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

  test("A8 thousands of old events of ended jobs go in batches, those of open jobs and new ones stay", async () => {
    const { services } = opened;
    const owner = await addOwner(services);
    const [ended, open] = [await addJob(services, { owner }), await addJob(services, { owner })];
    await services.db.execute(
      sql`update jobs set status = 'cancelled', ended_at = now() where id = ${ended}`,
    );
    for (const id of [ended, open])
      await services.db.execute(sql`
        insert into job_events (job_id, revision, type, status, data, created_at)
        select ${id}, 100 + i, 'progress', 'processing', '{}', now() - interval '400 days' from generate_series(1, 5001) i`);
    const count = (id: string) =>
      services.db.$count(schema.jobEvents, sql`job_id = ${id} and revision > 100`);
    await pruneEvents(services);
    expect([await count(ended), await count(open)]).toEqual([0, 5_001]);
    expect(await services.db.$count(schema.jobEvents, sql`job_id = ${ended}`)).toBeGreaterThan(0);
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
      const link = { id: newId(), tokenHash: `${hours}`, userId: ownerId };
      const ended = sql`now() - ${hours} * interval '1 hour'`;
      await db.insert(schema.passwordResets).values({ ...link, expiresAt: ended });
      const lastRequest = Date.now() - 86_400_000 - hours * 3_600_000;
      await db.insert(schema.rateLimits).values({ id: newId(), key: `${hours}`, count: 1, lastRequest });
    }
    const ofClockAhead = { id: newId(), key: "ahead", count: 1, lastRequest: Date.now() + 5 * 3_600_000 };
    await db.insert(schema.rateLimits).values(ofClockAhead);
    for (const forget of [pruneKeys, pruneSignIns, pruneEnded]) await forget(services);
    expect((await db.select().from(schema.idempotencyKeys)).map(({ key }) => key)).toEqual(["29"]);
    expect((await db.select().from(sessions)).map(({ token }) => token)).toEqual(["-1"]);
    const links = await db.select().from(schema.passwordResets);
    expect(links.map(({ tokenHash }) => tokenHash)).toEqual(["-1"]);
    expect((await db.select().from(schema.rateLimits)).map(({ key }) => key)).toEqual(["-1"]);
    const states = (await db.select().from(schema.nodes)).map(({ state }) => state);
    expect(states.sort()).toEqual(["active", "lost"]);
  });

  test("guests that cannot be removed now do not keep the others", async () => {
    const { services } = opened;
    const { db } = services;
    // What the tests before left.
    await expireGuests(services);
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
});

describe("cleanup", () => {
  const minuteMs = 60_000;
  const { jobs, jobEvents, jobInputs, jobOutputs, images } = schema;

  forBackendSuites("on %s", (backend) => {
    let opened: TestServices;
    let owner: TestOwner;
    let nodeId: string;
    let workDir: string;

    beforeAll(async () => {
      opened = await createTestServices({ backend });
      workDir = await mkdtemp(path.join(os.tmpdir(), "atelier-test-"));
    });
    afterAll(async () => {
      await opened.close();
      await rm(workDir, { recursive: true });
    });
    beforeEach(async () => {
      const { services } = opened;
      for (const table of [jobs, images, schema.nodes]) await services.db.delete(table);
      await rm(path.join(services.env.ATELIER_DATA_DIR, "files"), { recursive: true, force: true });
      owner = await addOwner(services);
      nodeId = await addNode(services);
    });

    async function begin(retention: Retention) {
      const { services } = opened;
      const id = await addJob(services, { owner, retention });
      await claim(services, { nodeId, queue: testQueue, offers: localOffers });
      const lease = { jobId: id, attempt: 1, nodeId };
      await start(services, lease);
      return lease;
    }

    async function completed(retention: Retention): Promise<string> {
      const { services } = opened;
      const lease = await begin(retention);
      const file = path.join(workDir, `${lease.jobId}.png`);
      const create = { width: 8, height: 8, channels: 3 as const, background: "teal" };
      await writeFile(file, await sharp({ create }).png().toBuffer());
      const { jobId } = lease;
      const facts = { ownerId: owner.userId, jobId, attempt: 1, kind: "upscale", position: 0 } as const;
      const output = await storeOutput(services, { ...facts, path: file, mime: "image/png" });
      await complete(services, { lease, outputs: [output], facts: {} });
      return jobId;
    }

    async function failed(): Promise<string> {
      const lease = await begin("ephemeral");
      await fail(opened.services, lease, new AppError("output_too_large"));
      return lease.jobId;
    }

    async function cancelled(): Promise<string> {
      const id = await addJob(opened.services, { owner, retention: "ephemeral" });
      await cancel(opened.services, { ownerId: owner.userId, id });
      return id;
    }

    const ackOwn = (id: string) => ack(opened.services, { ownerId: owner.userId, id });
    const setAgo = (id: string, column: "ended_at" | "answered_at", ms: number) =>
      opened.services.db.execute(
        sql`update ${jobs} set ${sql.identifier(column)} = now() - ${ms} * interval '1 millisecond' where id = ${id}`,
      );

    /** What is left of everything, rows and objects. */
    async function readLeft() {
      const { db } = opened.services;
      const counts = await Promise.all(
        [jobs, jobEvents, jobInputs, jobOutputs, images].map((table) => db.$count(table)),
      );
      return { rows: counts, objects: (await listObjects(opened.services)).length };
    }
    const nothing = { rows: [0, 0, 0, 0, 0], objects: 0 };

    test.each([
      ["completed", () => completed("ephemeral")],
      ["failed", failed],
      ["cancelled", cancelled],
    ] as const)(
      "A8 A7 ack of a %s ephemeral job removes its rows, input, result and objects",
      async (_end, make) => {
        const id = await make();
        expect(await ackOwn(id)).toEqual({ removed: true });
        expect(await readLeft()).toEqual(nothing);
        await expect(ackOwn(id)).rejects.toMatchObject({ code: "not_found" });
      },
    );

    test.each([
      ["completed", () => completed("ephemeral")],
      ["failed", failed],
      ["cancelled", cancelled],
    ] as const)("A8 a %s ephemeral job that nobody acknowledged goes in its time", async (_end, make) => {
      const { services } = opened;
      const id = await make();
      const before = await readLeft();
      expect(await expireEphemeral(services)).toEqual([]);
      await noteAnswer(services, id);
      await setAgo(id, "answered_at", 9 * minuteMs);
      expect(await expireEphemeral(services)).toEqual([]);
      expect(await readLeft()).toEqual(before);
      await setAgo(id, "answered_at", 11 * minuteMs);
      expect(await expireEphemeral(services)).toEqual([id]);
      expect(await readLeft()).toEqual(nothing);
    });

    test("A8 a picture that is the result of several jobs is sent for all of them that have no other", async () => {
      const { services } = opened;
      const [first, second, larger] = [
        await completed("ephemeral"),
        await completed("ephemeral"),
        await completed("ephemeral"),
      ];
      const picture = services.db
        .select({ id: jobOutputs.imageId })
        .from(jobOutputs)
        .where(eq(jobOutputs.jobId, first));
      const [{ id: imageId } = { id: "" }] = await picture;
      await services.db.update(jobOutputs).set({ imageId }).where(eq(jobOutputs.jobId, second));
      await services.db.insert(jobOutputs).values({ jobId: larger, position: 1, imageId });
      await noteServed(services, imageId);
      const answered = await services.db.select({ id: jobs.id }).from(jobs).where(isNotNull(jobs.answeredAt));
      expect(answered.map(({ id }) => id).toSorted()).toEqual([first, second].toSorted());
    });

    test("A8 a result that no client ever asked for goes after seven days, not before", async () => {
      const { services } = opened;
      const id = await completed("ephemeral");
      const dayMs = 24 * 60 * minuteMs;
      await setAgo(id, "ended_at", 7 * dayMs - minuteMs);
      expect(await expireEphemeral(services)).toEqual([]);
      await setAgo(id, "ended_at", 7 * dayMs + minuteMs);
      expect(await expireEphemeral(services)).toEqual([id]);
      expect(await readLeft()).toEqual(nothing);
    });

    test("A8 an open ephemeral job never goes, and its ack is a conflict", async () => {
      const { services } = opened;
      const { jobId } = await begin("ephemeral");
      await services.db
        .update(jobs)
        .set({ createdAt: new Date(0) })
        .where(eq(jobs.id, jobId));
      await expect(ackOwn(jobId)).rejects.toMatchObject({ code: "conflict" });
      expect(await expireEphemeral(services)).toEqual([]);
      expect((await readJob(services, jobId)).status).toBe("processing");
    });

    test("A8 a kept job stays when it is acknowledged, answered and old", async () => {
      const { services } = opened;
      const id = await completed("keep");
      const before = await readLeft();
      expect(await ackOwn(id)).toEqual({ removed: false });
      await noteAnswer(services, id);
      await setAgo(id, "ended_at", 365 * 24 * 60 * minuteMs);
      expect(await expireEphemeral(services)).toEqual([]);
      expect(await readLeft()).toEqual(before);
    });

    test("A8 the input of another job stays, and goes with the last job that uses it", async () => {
      const { services } = opened;
      const first = await completed("ephemeral");
      const second = await completed("ephemeral");
      await ackOwn(first);
      expect(
        await services.db.select({ id: images.id }).from(images).where(eq(images.id, owner.imageId)),
      ).toHaveLength(1);
      expect((await listObjects(services)).filter((key) => key.includes(owner.imageId))).toHaveLength(3);
      expect(await readJob(services, second)).toMatchObject({ status: "completed" });
      await ackOwn(second);
      expect(await readLeft()).toEqual(nothing);
    });

    test("A8 a removal that fails half way leaves the job and its pictures whole for the next pass", async () => {
      const { services } = opened;
      const id = await completed("ephemeral");
      const before = await readLeft();
      await setAgo(id, "ended_at", 8 * 24 * 60 * minuteMs);
      await services.db.execute(sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`);
      await services.db.execute(
        sql`create trigger refuse before delete on ${images} for each row execute function refuse()`,
      );
      expect(await expireEphemeral(services)).toEqual([]);
      expect(await readLeft()).toEqual(before);
      await services.db.execute(sql`drop function refuse cascade`);
      expect(await expireEphemeral(services)).toEqual([id]);
      expect(await readLeft()).toEqual(nothing);
    });

    test("A8 two hundred jobs that cannot be removed do not keep out the next one", async () => {
      const { services } = opened;
      const stuck = await cancelled();
      await setAgo(stuck, "ended_at", 8 * 24 * 60 * minuteMs);
      const row = await readJob(services, stuck);
      await services.db.insert(jobs).values(Array.from({ length: 199 }, () => ({ ...row, id: newId() })));
      await services.db.execute(sql`update ${jobs} set stage = 'stuck'`);
      await services.db.execute(sql`
      create function refuse() returns trigger language plpgsql as $$ begin if old.stage = 'stuck' then raise 'refused'; end if; return old; end $$`);
      await services.db.execute(
        sql`create trigger refuse before delete on ${jobs} for each row execute function refuse()`,
      );
      const last = newId();
      await services.db.insert(jobs).values({ ...row, id: last });
      expect(await expireEphemeral(services)).toEqual([last]);
      await services.db.execute(sql`drop function refuse cascade`);
    });

    test("A8 the result of a kept job stays when an ephemeral job took it as input", async () => {
      const { services } = opened;
      const kept = await completed("keep");
      const [result] = await services.db.select().from(jobOutputs).where(eq(jobOutputs.jobId, kept));
      const resultId = result?.imageId ?? "";
      const before = await readLeft();
      const id = await addJob(services, { owner: { ...owner, imageId: resultId }, retention: "ephemeral" });
      await cancel(services, { ownerId: owner.userId, id });
      expect(await ackOwn(id)).toEqual({ removed: true });
      expect(await readLeft()).toEqual(before);
    });

    test("A8 a starred picture stays when its ephemeral job goes", async () => {
      const { services } = opened;
      const id = await completed("ephemeral");
      const starred = await changeImage(services, {
        ownerId: owner.userId,
        id: owner.imageId,
        starred: true,
      });
      await ackOwn(id);
      expect(await services.db.select({ id: images.id }).from(images)).toEqual([{ id: starred.id }]);
    });

    test("A8 an input that was in the gallery before its ephemeral job stays", async () => {
      const { services } = opened;
      const id = await completed("ephemeral");
      await services.db.execute(
        sql`update images set created_at = now() - interval '61 minutes' where id = ${owner.imageId}`,
      );
      await ackOwn(id);
      expect(await services.db.select({ id: images.id }).from(images)).toEqual([{ id: owner.imageId }]);
    });

    /** Puts a picture to a use; `other` is another picture of its owner. */
    const uses: Readonly<Record<string, (id: string, other: string) => SQL>> = {
      "is rated": (id) => sql`update images set rating = 3 where id = ${id}`,
      "has a tag": (id) => sql`with tag as (insert into tags (id, owner_id, name, key)
        values (${newId()}, ${owner.userId}, 'a', ${id}) returning id)
        insert into image_tags (tag_id, image_id) select id, ${id} from tag`,
      "is on a board": (id) => sql`with board as (insert into boards (id, owner_id, name, key)
        values (${newId()}, ${owner.userId}, 'a', 'a') returning id)
        insert into board_images (board_id, image_id) select id, ${id} from board`,
      "is in the wardrobe": (id) => sql`insert into wardrobe_items (id, owner_id, image_id, what, tags)
        values (${newId()}, ${owner.userId}, ${id}, 'garment', '{}')`,
      "is behind a link": (id) => sql`with link as (insert into links (id, owner_id, token_hash)
        values (${newId()}, ${owner.userId}, ${id}) returning id)
        insert into link_images (link_id, position, image_id) select id, 0, ${id} from link`,
      "was edited": (id) => sql`insert into edits (id, owner_id, image_id, version_ids, state, writer)
        values (${newId()}, ${owner.userId}, ${id}, '{}', '{}', 'a')`,
      "is a version of an edit": (id, other) => sql`
        insert into edits (id, owner_id, image_id, version_ids, state, writer)
        values (${newId()}, ${owner.userId}, ${other}, array[${id}::uuid], '{}', 'a')`,
      "is to be taken by a step": (id) => sql`with batch as (insert into batches (id, owner_id, size)
        values (${newId()}, ${owner.userId}, 1) returning id)
        insert into batch_steps (batch_id, position, number, role, request)
        select id, 0, 1, 'image', jsonb_build_object('inputs', jsonb_build_object('reference', ${id}::text)) from batch`,
    };

    test.each(Object.entries(uses))(
      "A8 an input and a result stay when their ephemeral job goes and each %s",
      async (_how, use) => {
        const { services } = opened;
        const id = await completed("ephemeral");
        const [output] = await services.db.select().from(jobOutputs).where(eq(jobOutputs.jobId, id));
        const used = [owner.imageId, output?.imageId ?? ""];
        for (const picture of used) {
          const other = await addImage(services, owner.userId);
          await services.db.execute(use(picture, other));
        }
        expect(await ackOwn(id)).toEqual({ removed: true });
        expect(await services.db.$count(images, inArray(images.id, used))).toBe(2);
      },
    );

    test("A7 A8 twenty acks and sweeps at once remove a job once, and none of them fails", async () => {
      const { services } = opened;
      const id = await completed("ephemeral");
      await setAgo(id, "ended_at", 8 * 24 * 60 * minuteMs);
      const racers = Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0 ? ackOwn(id) : expireEphemeral(services),
      );
      const settled = await Promise.allSettled(racers);
      const reasons = settled.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []));
      expect(reasons.every((code) => code === "not_found")).toBe(true);
      const acks = settled.flatMap((result, at) =>
        at % 2 === 0 && result.status === "fulfilled" ? [result.value] : [],
      );
      expect(acks).toEqual(acks.map(() => ({ removed: true })));
      expect(await readLeft()).toEqual(nothing);
    });
  });
});

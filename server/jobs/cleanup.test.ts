import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  addJob,
  addNode,
  addOwner,
  localOffers,
  readJob,
  testQueue,
  type TestOwner,
} from "@atelier/testing/jobs";
import { listObjects } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema, type Retention } from "../db/index.ts";
import { starImage, storeOutput } from "../images/index.ts";
import { AppError } from "../platform/index.ts";
import { ack } from "./ack.ts";
import { cancel } from "./cancel.ts";
import { claim } from "./run.ts";
import { complete } from "./complete.ts";
import { expireEphemeral } from "./expire-ephemeral.ts";
import { fail } from "./fail.ts";
import { noteAnswer } from "./note-answer.ts";
import { start } from "./start.ts";

const minuteMs = 60_000;
const { jobs, jobEvents, jobInputs, jobOutputs, images } = schema;

describe.each(["postgres", "redis"] as const)("on %s", (backend) => {
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
    const starred = await starImage(services, { ownerId: owner.userId, id: owner.imageId, starred: true });
    await ackOwn(id);
    expect(await services.db.select({ id: images.id }).from(images)).toEqual([{ id: starred.id }]);
  });

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

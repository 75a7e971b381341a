import { utimes, writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { addUser, listObjects, listTempFiles } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, inArray, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { schema, type JobStatus } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import { doDuties, postponeTurn } from "../leases/index.ts";
import { newId } from "../platform/index.ts";
import { openLocalDisk, sweepTempFolders, tempFolderMs } from "../storage/index.ts";
import {
  ingest,
  purgeDeleted,
  purgeImages,
  removeImages,
  restoreImages,
  sweepOrphanObjects,
  orphanDuty,
  orphanTurn,
} from "./index.ts";

const { clockStretches, images, jobInputs, jobOutputs, jobs } = schema;

let opened: TestServices;
let ownerId: string;

beforeEach(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
});
afterEach(() => opened.close());

let width = 1;

async function addImage(role: "upload" | "mask" = "upload"): Promise<string> {
  width += 1;
  const bytes = await sharp({ create: { width, height: 4, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  return (await ingest(opened.services, { ownerId, role, bytes })).id;
}

async function addJob(status: JobStatus, inputs: Partial<Record<InputRole, string>>): Promise<string> {
  const id = newId();
  const facts = {
    kind: "inpaint",
    tier: 1,
    params: {},
    queue: "cpu-light",
    engine: "local",
    need: "local/inpaint",
  } as const;
  await opened.services.db.insert(jobs).values({ id, ownerId, status, ...facts });
  for (const [role, imageId] of Object.entries(inputs))
    await opened.services.db.insert(jobInputs).values({ jobId: id, role: role as InputRole, imageId });
  return id;
}

/** Deleted so long ago that no undo is possible. */
async function removeLongAgo(...ids: string[]): Promise<void> {
  await removeImages(opened.services, { ownerId, ids });
  for (const id of ids)
    await opened.services.db
      .update(images)
      .set({ deletedAt: sql`now() - interval '31 days'` })
      .where(eq(images.id, id));
}

const rowIds = async () =>
  (await opened.services.db.select({ id: images.id }).from(images)).map(({ id }) => id).sort();
const objectIds = async () =>
  [...new Set((await listObjects(opened.services)).map((key) => path.basename(path.dirname(key))))].sort();

async function expectLeft(...ids: string[]): Promise<void> {
  expect(await rowIds()).toEqual([...ids].sort());
  expect(await objectIds()).toEqual([...ids].sort());
}

test("A15 the purge removes what was deleted long ago, rows and objects, and nothing else", async () => {
  const [kept, justDeleted, longDeleted] = [await addImage(), await addImage(), await addImage()];
  await removeImages(opened.services, { ownerId, ids: [justDeleted] });
  await removeLongAgo(longDeleted);
  expect(await purgeDeleted(opened.services)).toBe(1);
  await expectLeft(kept, justDeleted);
  expect(await purgeDeleted(opened.services)).toBe(0);
});

test("A15 a clock of the database that is set ahead purges nothing early, and what is kept can be restored", async () => {
  const { services } = opened;
  const id = await addImage();
  await removeLongAgo(id);
  const [day, ago] = [86_400_000, (days: number) => sql`now() - ${days} * interval '1 day'`];
  const seen = { beganAt: ago(2), seenAt: ago(0), missedMs: 29 * day };
  await services.db.insert(clockStretches).values(seen);
  expect(await purgeDeleted(services)).toBe(0);
  expect(await restoreImages(services, { ownerId, ids: [id] })).toEqual([id]);
  await removeLongAgo(id);
  // It was there before the picture was deleted.
  await services.db.update(clockStretches).set({ beganAt: ago(32) });
  expect(await purgeDeleted(services)).toBe(1);
});

test.each(["pending", "queued", "waiting_for_engine", "processing"] as const)(
  "A8 a deleted input of a %s job stays until the job ends",
  async (status) => {
    const input = await addImage();
    const job = await addJob(status, { image: input });
    await removeLongAgo(input);
    expect(await purgeDeleted(opened.services)).toBe(0);
    await expectLeft(input);
    await opened.services.db.update(jobs).set({ status: "completed" }).where(eq(jobs.id, job));
    expect(await purgeDeleted(opened.services)).toBe(1);
    await expectLeft();
  },
);

test("a deleted input of ended jobs goes, the jobs stay, and an open job beside them keeps it", async () => {
  const [free, held] = [await addImage(), await addImage()];
  await addJob("completed", { image: free });
  await addJob("failed", { image: free, mask: held });
  const open = await addJob("pending", { image: held });
  await removeLongAgo(free, held);
  expect(await purgeDeleted(opened.services)).toBe(1);
  await expectLeft(held);
  expect(await opened.services.db.select({ id: jobs.id }).from(jobs)).toHaveLength(3);
  expect(
    (await opened.services.db.select().from(jobInputs)).filter((link) => link.jobId === open),
  ).toHaveLength(1);
});

test("a deleted result leaves its job with the link gone", async () => {
  const result = await addImage();
  const job = await addJob("completed", {});
  await opened.services.db.insert(jobOutputs).values({ jobId: job, position: 0, imageId: result });
  await removeLongAgo(result);
  expect(await purgeDeleted(opened.services)).toBe(1);
  expect(await opened.services.db.select().from(jobOutputs)).toEqual([]);
});

test("masks that no job took go after their time; those of a job stay with it (D12)", async () => {
  const [fresh, unused, used] = [await addImage("mask"), await addImage("mask"), await addImage("mask")];
  await addJob("completed", { mask: used });
  for (const id of [unused, used])
    await opened.services.db
      .update(images)
      .set({ createdAt: sql`now() - interval '61 minutes'` })
      .where(eq(images.id, id));
  expect(await purgeDeleted(opened.services)).toBe(1);
  await expectLeft(fresh, used);
});

test("a hundred masks that have to stay hold up nothing behind them", async () => {
  const masks: string[] = [];
  for (let count = 0; count < 100; count++) masks.push(await addImage("mask"));
  await opened.services.db
    .update(images)
    .set({ starred: true, createdAt: sql`now() - interval '61 minutes'` })
    .where(inArray(images.id, masks));
  const removed = await addImage();
  await removeLongAgo(removed);
  expect(await purgeDeleted(opened.services)).toBe(1);
  await expectLeft(...masks);
});

test("A8 pictures are removed at once unless a job has them as input", async () => {
  const [free, used] = [await addImage(), await addImage()];
  await addJob("completed", { image: used });
  expect(await purgeImages(opened.services, [free, used, newId()])).toBe(1);
  await expectLeft(used);
});

test("a purge that races with a submit never takes the input away from the job", async () => {
  for (let round = 0; round < 20; round += 1) {
    const input = await addImage();
    const [purged, job] = await Promise.allSettled([
      purgeImages(opened.services, [input]),
      addJob("pending", { image: input }),
    ]);
    const links = await opened.services.db.select().from(jobInputs).where(eq(jobInputs.imageId, input));
    const objects = (await objectIds()).includes(input);
    expect(purged).toMatchObject({ status: "fulfilled", value: job.status === "fulfilled" ? 0 : 1 });
    expect({ links: links.length, objects }).toEqual({
      links: job.status === "fulfilled" ? 1 : 0,
      objects: job.status === "fulfilled",
    });
  }
});

test("two purges at once remove everything once", async () => {
  const ids: string[] = [];
  for (let at = 0; at < 8; at += 1) ids.push(await addImage());
  await removeLongAgo(...ids);
  const other = await opened.openAnother();
  const purged = await Promise.all([purgeDeleted(opened.services), purgeDeleted(other)]);
  expect((purged[0] ?? 0) + (purged[1] ?? 0)).toBe(8);
  await expectLeft();
});

async function addObject(key: string, ageMs: number): Promise<void> {
  const file = path.join(opened.services.env.ATELIER_DATA_DIR, "files", key);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, "x");
  const at = new Date(Date.now() - ageMs);
  await utimes(file, at, at);
}

const hourMs = 3_600_000;

test("A5 a store that lets nobody end unfinished uploads is swept all the same", async () => {
  const { disk } = opened.services;
  const endUploads = vi.spyOn(disk.driver, "endUploads").mockRejectedValue(new Error("NotImplemented"));
  await addObject(`users/${ownerId}/${newId()}/original.png`, 2 * hourMs);
  expect(await sweepOrphanObjects(opened.services)).toBe(1);
  expect(endUploads.mock.calls.map(([prefix]) => prefix)).toEqual(["users", "jobs"]);
  endUploads.mockRestore();
});

test("A5 on a full disk, which takes no new file, old objects without a row still go", async () => {
  const put = vi
    .spyOn(opened.services.disk, "put")
    .mockRejectedValue(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" }));
  await addObject(`users/${ownerId}/${newId()}/original.png`, 2 * hourMs);
  const fresh = newId();
  await addObject(`users/${ownerId}/${fresh}/original.png`, 1_000);
  expect(await sweepOrphanObjects(opened.services)).toBe(1);
  expect(await listObjects(opened.services)).toEqual([expect.stringContaining(fresh)]);
  expect(put).toHaveBeenCalled();
});

test("A5 a process whose clock is hours ahead takes no new object for an old one", async () => {
  await addObject(`users/${ownerId}/${newId()}/original.png`, 1_000);
  await addObject(`incoming/${newId()}/file`, 1_000);
  const before = await listObjects(opened.services);
  const aheadMs = Date.now() + 3 * hourMs;
  const clock = vi.spyOn(Date, "now").mockReturnValue(aheadMs);
  const swept = sweepOrphanObjects(opened.services).finally(() => clock.mockRestore());
  expect(await swept).toBe(0);
  expect(await listObjects(opened.services)).toEqual(before);
});

test("A5 the orphan sweep removes old objects without a row and leaves all others", async () => {
  const kept = await addImage();
  const deleted = await addImage();
  await removeImages(opened.services, { ownerId, ids: [deleted] });
  for (const key of await listObjects(opened.services)) await addObject(key, 5 * hourMs);
  const [old, fresh, mixed, job] = [newId(), newId(), newId(), newId()];
  await addObject(`users/${ownerId}/${old}/original.png`, hourMs + 60_000);
  await addObject(`users/${ownerId}/${old}/preview.webp`, hourMs + 60_000);
  await addObject(`users/${ownerId}/${fresh}/original.png`, hourMs - 60_000);
  await addObject(`users/${ownerId}/${mixed}/original.png`, 2 * hourMs);
  await addObject(`users/${ownerId}/${mixed}/preview.webp`, 1_000);
  await addObject(`jobs/${job}/1/0/original.png`, 2 * hourMs);
  await addObject(`jobs/${job}/2/0/original.png`, 1_000);
  await addObject("users/readme.txt", 9 * hourMs);
  await addObject("elsewhere/file.bin", 9 * hourMs);
  expect(await sweepOrphanObjects(opened.services, AbortSignal.abort())).toBe(0);
  expect(await sweepOrphanObjects(opened.services)).toBe(2);
  expect(await listObjects(opened.services)).toEqual(
    [
      ...["original.png", "preview.webp", "thumbnail.webp"].flatMap((name) =>
        [kept, deleted].map((id) => `users/${ownerId}/${id}/${name}`),
      ),
      `users/${ownerId}/${fresh}/original.png`,
      `users/${ownerId}/${mixed}/original.png`,
      `users/${ownerId}/${mixed}/preview.webp`,
      `jobs/${job}/2/0/original.png`,
      "users/readme.txt",
      "elsewhere/file.bin",
    ].sort(),
  );
});

test("A16 one worker of many sweeps the store, once a day, and only one with the studio's store", async () => {
  const { services } = opened;
  const orphan = async () => {
    const key = `jobs/${newId()}/1/0`;
    await addObject(`${key}/original.png`, 2 * hourMs);
    return `${key}/original.png`;
  };
  const sweep = (by = services) => doDuties(by, [orphanDuty(by)]);
  await services.db.delete(schema.turns);
  const first = await orphan();
  await sweep({ ...services, disk: openLocalDisk({ ATELIER_DATA_DIR: "/dev/null" }) });
  expect(await services.db.$count(schema.turns)).toBe(0);
  await Promise.all([sweep(), sweep()]);
  expect(await listObjects(services)).not.toContain(first);
  const second = await orphan();
  await sweep();
  expect(await listObjects(services)).toContain(second);
  await postponeTurn(services, orphanTurn, 0);
  await sweep();
  expect(await listObjects(services)).not.toContain(second);
});

test("temporary files of a killed process go after their time", async () => {
  const { ATELIER_DATA_DIR } = opened.services.env;
  for (const [name, ageMs] of [
    ["work-old", 7_200_000],
    ["work-new", 1_000],
  ] as const) {
    const folder = path.join(ATELIER_DATA_DIR, "tmp", name);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "0"), "x");
    const at = new Date(Date.now() - ageMs);
    await utimes(folder, at, at);
  }
  await sweepTempFolders(opened.services.env, tempFolderMs(opened.services.config));
  expect(await listTempFiles(opened.services)).toEqual(["work-new/0"]);
});

test("D12 the folder of a run that may last for hours is never swept under it", async () => {
  const { services } = opened;
  const timing = { ...services.config.timing, runLimitMs: 4 * 3_600_000 };
  const folder = path.join(services.env.ATELIER_DATA_DIR, "tmp", "work-live");
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "image"), "x");
  const at = new Date(Date.now() - 5 * 3_600_000);
  await utimes(folder, at, at);
  await sweepTempFolders(services.env, tempFolderMs({ ...services.config, timing }));
  expect(await listTempFiles(services)).toEqual(["work-live/image"]);
  await sweepTempFolders(services.env, tempFolderMs(services.config));
  expect(await listTempFiles(services)).toEqual([]);
});

test("what a killed process left in the temporary folder goes when any process starts", async () => {
  const { services } = opened;
  const folder = path.join(services.env.ATELIER_DATA_DIR, "tmp", "work-killed");
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "0"), "part of an upload");
  const old = new Date(Date.now() - 7_200_000);
  await utimes(folder, old, old);
  await opened.openAnother();
  expect((await listTempFiles(services)).filter((name) => name.startsWith("work-killed"))).toEqual([]);
});

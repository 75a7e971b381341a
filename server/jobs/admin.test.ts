import { eq, sql } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addJob,
  addNode,
  addOwner,
  insertJob,
  readJob,
  readStory,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { addHistory } from "@atelier/testing/monitoring";
import {
  captureLog,
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { handleTrpc } from "../api/index.ts";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { searchJobs, searchJobsSchema } from "./admin-search.ts";
import { readAnyStory, setTier } from "./admin.ts";
import { cancelAny } from "./cancel.ts";
import { dispatch } from "./dispatch.ts";
import { serverLabel } from "./read.ts";
import { retryAny } from "./retry.ts";

let opened: TestServices;
let owner: TestOwner;
let admin: Awaited<ReturnType<typeof openOwner>>;
const { log, lines } = captureLog();

beforeAll(async () => {
  opened = await createTestServices({ log });
  admin = await openOwner(opened.services, "admin@example.com", openAdmin);
  // It would hold the one place of the window.
  await cancelAny(opened.services, { id: admin.jobId });
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());

const search = (input: object) => searchJobs(opened.services, searchJobsSchema.parse(input));

test("D10 a job whose tier an admin raised is let out before others of its owner that came first", async () => {
  const { services } = opened;
  const [first, second] = [await insertJob(services, { owner }), await insertJob(services, { owner })];
  await Promise.all([
    setTier(services, { id: second, tier: "urgent" }),
    setTier(services, { id: second, tier: "urgent" }),
  ]);
  const story = await readStory(services, second);
  expect(story.map(({ type }) => type)).toEqual(["created", "tier_changed"]);
  await dispatch(services, testQueue);
  expect((await readJob(services, second)).status).toBe("queued");
  expect((await readJob(services, first)).status).toBe("pending");
  await cancelAny(services, { id: first });
  await cancelAny(services, { id: second });
  await expect(setTier(services, { id: second, tier: "low" })).rejects.toMatchObject({ code: "conflict" });
  await expect(setTier(services, { id: newId(), tier: "low" })).rejects.toMatchObject({ code: "not_found" });
});

test("O4 an admin cancels anybody's job; pressed twice it stays cancelled", async () => {
  const { services } = opened;
  const id = await insertJob(services, { owner });
  const answers = await Promise.all([cancelAny(services, { id }), cancelAny(services, { id })]);
  expect(answers.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  expect((await readStory(services, id)).map(({ type }) => type)).toEqual(["created", "cancelled"]);
  await expect(cancelAny(services, { id: newId() })).rejects.toMatchObject({ code: "not_found" });
  await expect(cancelAny(services, { id: "no-id" })).rejects.toMatchObject({ code: "not_found" });
});

test("O4 an admin runs a job again for its owner; pressed twice it is one job", async () => {
  const { services } = opened;
  await addNode(services);
  const id = await addJob(services, { owner });
  await expect(retryAny(services, { id })).rejects.toMatchObject({ code: "conflict" });
  await cancelAny(services, { id });
  const [one, two] = await Promise.all([retryAny(services, { id }), retryAny(services, { id })]);
  expect(one.id).toBe(two.id);
  expect(await readJob(services, one.id)).toMatchObject({ ownerId: owner.userId, retryOf: id });
  const story = await readAnyStory(services, { id });
  expect(story).toMatchObject({ owner: { id: owner.userId }, retries: [{ id: one.id }] });
  expect(story.events.map(({ type }) => type)).toContain("cancelled");
  await cancelAny(services, { id: one.id });
});

test("O2 pages of the search hold every job once, also where a page ends before its limit", async () => {
  const { services } = opened;
  const other = await addOwner(services);
  await addHistory(services, { jobs: 12_000, days: 3, ownerIds: [other.userId] });
  const walk = async (input: object) => {
    const ids: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page = await search({ ...input, limit: 100, ...(cursor ? { cursor } : {}) });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== null);
    return { ids, pages };
  };
  const { jobs } = schema;
  const known = (
    await services.db.select({ id: jobs.id }).from(jobs).where(eq(jobs.errorCode, "model_missing"))
  ).map(({ id }) => id);
  expect(known.length).toBeGreaterThan(50);
  const byCode = await walk({ code: "model_missing" });
  expect(byCode.ids).toEqual(known.toSorted().toReversed());
  const byOwner = await walk({ owner: other.userId, code: "model_missing" });
  expect(byOwner.ids).toEqual(byCode.ids);
  expect((await walk({ owner: owner.userId, code: "model_missing" })).ids).toEqual([]);
  const nothing = await walk({ text: "nowhere to be found" });
  expect(nothing).toMatchObject({ ids: [] });
  expect(nothing.pages).toBeGreaterThan(2);
});

test("O2 pages of several owners skip no row of the one who has more jobs than are looked through", async () => {
  const { services } = opened;
  const [many, few] = [await addOwner(services), await addOwner(services)];
  const mark = newId();
  await services.db.execute(sql`update users set name = ${mark} where id in (${many.userId}, ${few.userId})`);
  // The share of each of two is 2,000 rows: those of `many` that match lie behind it, those of `few` are older still.
  await addHistory(services, { jobs: 3_000, days: 1, ownerIds: [many.userId] });
  await addHistory(services, { jobs: 200, days: 30, ownerIds: [few.userId] });
  const { jobs } = schema;
  const isOneOfThem = sql`${jobs.ownerId} in (${many.userId}, ${few.userId})`;
  await services.db.execute(sql`
    update jobs set workflow = 'marked' where id in (select id from jobs where owner_id = ${many.userId} order by id limit 50)
      or owner_id = ${few.userId}`);
  const known = await services.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(sql`${isOneOfThem} and ${jobs.workflow} = 'marked'`);
  expect(known.length).toBeGreaterThan(200);
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await search({ owner: mark, text: "marked", limit: 100, ...(cursor ? { cursor } : {}) });
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(ids).toEqual(
    known
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  );
});

test("O4 the search finds by id, owner, status, kind, place, cause and words", async () => {
  const { services } = opened;
  const id = await insertJob(services, { owner });
  const only = async (input: object) => (await search(input)).items.map((job) => job.id);
  expect(await only({ text: id.slice(0, 26) })).toContain(id);
  expect(await only({ text: id.replaceAll("-", "").toUpperCase() })).toEqual([id]);
  expect(await only({ owner: owner.userId, status: "open" })).toEqual([id]);
  expect(await only({ status: "pending", kind: "upscale", queue: testQueue })).toEqual([id]);
  expect(await only({ status: "processing" })).toEqual([]);
  expect(await only({ status: "open", kind: "inpaint" })).toEqual([]);
  expect(await only({ owner: "nobody@nowhere.test" })).toEqual([]);
  const failed = await search({ status: "failed", code: "server_lost", server: "gpu-1" });
  expect(failed.items.length).toBeGreaterThan(0);
  for (const job of failed.items)
    expect(job).toMatchObject({ status: "failed", errorCode: "server_lost", server: "gpu-1:8188" });
  await services.db
    .update(schema.jobs)
    .set({ server: "https://gpu.example.org/comfy" })
    .where(eq(schema.jobs.id, id));
  const label = serverLabel("https://gpu.example.org/comfy");
  expect((await search({ server: label })).items).toMatchObject([{ id, server: label }]);
  expect((await search({ text: "soft light" })).items).toHaveLength(50);
  expect((await search({ text: "100%_" })).items).toEqual([]);
  expect(() => searchJobsSchema.parse({ code: "toString" })).toThrow(/code/);
  await expect(search({ cursor: "x" })).rejects.toMatchObject({ code: "bad_request" });
});

test("O4 each thing an admin does, or tries to do, leaves a line with who it was", async () => {
  const { services } = opened;
  const id = await insertJob(services, { owner });
  const act = (path: string, input: object) =>
    handleTrpc(
      services,
      new Request(`${testOrigin}/api/trpc/${path}`, {
        method: "POST",
        headers: { ...Object.fromEntries(admin.browser.headers), "content-type": "application/json" },
        body: superjson.stringify(input),
      }),
    );
  expect((await act("admin.jobs.setTier", { id, tier: "high" })).status).toBe(200);
  expect((await act("admin.jobs.retry", { id })).status).toBe(409);
  const audit = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.audit === true);
  expect(audit).toMatchObject([
    { adminId: admin.caller.userId, action: "admin.jobs.setTier", input: { id, tier: "high" }, code: "ok" },
    { adminId: admin.caller.userId, action: "admin.jobs.retry", input: { id }, code: "conflict" },
  ]);
  // The owner reads that it was changed, not by whom.
  expect(JSON.stringify(await readStory(services, id))).not.toContain(admin.caller.userId);
});

import { addNode } from "@atelier/testing/jobs";
import { listObjects, readSample } from "@atelier/testing/pictures";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { ingest } from "../../images/index.ts";
import { createHttpApp } from "../index.ts";
import { waitUntil } from "../../../scripts/process/tools.ts";

let fixture: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  fixture = await createTestServices();
  owner = await openOwner(fixture.services, "owner@example.com");
  await addNode(fixture.services);
});
afterAll(() => fixture.close());

const { jobs, jobOutputs } = schema;

/** An ended ephemeral job with these many results. */
async function addEndedJob(status: "completed" | "failed", results: number, sample = "coffee.png") {
  const { db } = fixture.services;
  const { jobId: template, caller } = owner;
  const [row] = await db
    .select()
    .from(jobs)
    .where(sql`id = ${template}`);
  if (!row) throw new Error("the owner has no job");
  const id = crypto.randomUUID();
  await db.insert(jobs).values({ ...row, id, status, retention: "ephemeral", endedAt: new Date() });
  const imageIds: string[] = [];
  for (let position = 0; position < results; position += 1) {
    const bytes = await readSample(sample);
    const image = await ingest(fixture.services, {
      ownerId: caller.userId,
      role: "upload",
      bytes,
      name: sample,
    });
    await db.insert(jobOutputs).values({ jobId: id, position, imageId: image.id });
    imageIds.push(image.id);
  }
  return { id, imageIds };
}

async function take(path: string): Promise<void> {
  const request = new Request(`${testOrigin}/api/v1${path}`, {
    headers: { authorization: `Bearer ${owner.apiKey}` },
  });
  const response = await createHttpApp(fixture.services).fetch(request);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

async function isAnswered(id: string): Promise<boolean> {
  const [row] = await fixture.services.db
    .select({ answeredAt: jobs.answeredAt })
    .from(jobs)
    .where(sql`id = ${id}`);
  return row?.answeredAt != null;
}

test("A8 a completed job is answered in full by its result, not by its status or a preview", async () => {
  const { id, imageIds } = await addEndedJob("completed", 1);
  await take(`/jobs/${id}`);
  await take(`/images/${imageIds[0]}/file?variant=preview`);
  expect(await isAnswered(id)).toBe(false);
  await take(`/images/${imageIds[0]}/file`);
  expect(await waitUntil(() => isAnswered(id), 30_000)).toBe(true);
});

test("A8 the bundle answers in full", async () => {
  const { id } = await addEndedJob("completed", 1);
  await take(`/jobs/${id}/bundle`);
  expect(await waitUntil(() => isAnswered(id), 30_000)).toBe(true);
});

test("A8 a failed job is answered in full by its status", async () => {
  const { id } = await addEndedJob("failed", 0);
  await take(`/jobs/${id}`);
  expect(await isAnswered(id)).toBe(true);
});

test("A7 a file that is gone is told from an unknown picture, and its report answers an ephemeral job in full", async () => {
  const { id, imageIds } = await addEndedJob("completed", 1, "chelsea.png");
  const { disk } = fixture.services;
  for (const key of await listObjects(fixture.services))
    if (key.includes(`${imageIds[0]}/`)) await disk.delete(key);
  const ask = async (path: string) => {
    const response = await createHttpApp(fixture.services).fetch(
      new Request(`${testOrigin}/api/v1/images/${path}`, {
        headers: { authorization: `Bearer ${owner.apiKey}` },
      }),
    );
    return { status: response.status, body: await response.json() };
  };
  const gone = { status: 410, body: { code: "file_missing" } };
  expect(await ask(`${imageIds[0]}/file?variant=preview`)).toMatchObject(gone);
  expect(await isAnswered(id)).toBe(false);
  expect(await ask(`${crypto.randomUUID()}/file`)).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
  expect(await ask(`${imageIds[0]}/file`)).toMatchObject(gone);
  expect(await isAnswered(id)).toBe(true);
});

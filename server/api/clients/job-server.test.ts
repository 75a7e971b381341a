import { readFile } from "node:fs/promises";
import path from "node:path";
import { readJob } from "@atelier/testing/jobs";
import { listObjects, listTempFiles, rowsOf } from "@atelier/testing/pictures";
import { openTestBrowser, testPassword } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authOf } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { ingest } from "../../images/index.ts";
import { type ClientScene, drawPng, openClientScene } from "./fixtures/scene.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

interface Recorded {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const recorded = JSON.parse(
  await readFile(path.join(import.meta.dirname, "fixtures/job-server.json"), "utf8"),
) as readonly Recorded[];

const post = (to: string, body: unknown, key = scene.owner.key) =>
  scene.send(to, {
    method: "POST",
    key,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const words = (userId: string) => ({ userId, prompt: "a boat" });

async function outfit(changes: Readonly<Record<string, Blob | string | null>> = {}, key = scene.owner.key) {
  const person = new Blob([new Uint8Array(await drawPng("tan"))], { type: "image/png" });
  const garment = new Blob([new Uint8Array(await drawPng("navy"))], { type: "image/png" });
  const body = new FormData();
  const parts = { userId: "u-1001", personImage: person, garmentImage: garment, shop: "north", ...changes };
  for (const [name, value] of Object.entries(parts))
    if (typeof value === "string") body.append(name, value);
    else if (value) body.append(name, value, `${name}.png`);
  return scene.send("/jobChangeOutfit", { method: "POST", key, body });
}

async function jobOf(response: Response) {
  expect(response.status).toBe(201);
  const body = (await response.json()) as { jobId: string };
  expect(Object.keys(body)).toEqual(["jobId"]);
  return readJob(scene.services, body.jobId);
}

test.each(recorded)("A16 recorded: $name", async ({ path: to, headers, body, params, metadata }) => {
  const job = await jobOf(await scene.send(to, { method: "POST", headers, body }));
  expect(job).toMatchObject({
    kind: "text_to_image",
    retention: "ephemeral",
    ownerId: scene.owner.id,
    metadata,
  });
  const own = Object.fromEntries(Object.keys(params).map((name) => [name, job.params[name]]));
  expect(own).toEqual(params);
});

test("A16 a job without userId or prompt is refused in the words of both worlds, and nothing is stored", async () => {
  const before = await scene.services.db.$count(schema.jobs);
  for (const body of [{ prompt: "a boat" }, { userId: "u" }, { userId: "a/b", prompt: "a" }, [], "text"]) {
    const response = await post("/jobsRedis", body);
    expect(response.status).toBe(400);
    const answer = (await response.json()) as Record<string, unknown>;
    expect(answer).toMatchObject({ code: "bad_request", status: 400, error: expect.any(String) });
  }
  expect(await scene.services.db.$count(schema.jobs)).toBe(before);
});

const settingsCases = [
  ["one size out of steps of 16", { seed: 9, steps: 4, width: 513 }, { seed: 9, steps: 4 }, { width: 513 }],
  [
    "every value out of range",
    { steps: 90, width: 4_096, height: 100 },
    {},
    { steps: 90, width: 4_096, height: 100 },
  ],
  [
    "a negative prompt that no live workflow takes",
    { negative_prompt: "people", steps: 3 },
    { steps: 3 },
    { negativePrompt: "people" },
  ],
  [
    "guidance, which it has not",
    { guidance: 7.5, width: 512, height: 768 },
    { width: 512, height: 768 },
    { guidance: 7.5 },
  ],
  [
    "values of a wrong type",
    { steps: "many", seed: "7", width: null },
    { seed: 7 },
    { steps: "many", width: null },
  ],
] as const;

describe("A16 settings of a client that knows no workflows, with one live workflow", () => {
  let other: ClientScene;
  beforeAll(async () => {
    other = await openClientScene({}, { textWorkflow: "t2i_flux2_klein_4b" });
  });
  afterAll(() => other.close());

  test.each(settingsCases)("%s", async (_name, sent, used, kept) => {
    const body = JSON.stringify({ ...words("u-1"), ...sent });
    const headers = { "content-type": "application/json" };
    const response = await other.send("/jobsRedis", { method: "POST", headers, body });
    expect(response.status).toBe(201);
    const { jobId } = (await response.json()) as { jobId: string };
    const job = await readJob(other.services, jobId);
    expect(job.params).toMatchObject({ prompt: "a boat", ...used });
    expect(Object.keys(job.params).filter((name) => name in kept)).toEqual(
      Object.keys(kept).filter((name) => ["width", "height", "steps"].includes(name)),
    );
    expect(job.metadata).toEqual({ userId: "u-1", ...kept });
  });
});

test("A16 styles alone are a prompt", async () => {
  const job = await jobOf(
    await post("/jobsRedis", { userId: "u", prompt: " ", styles: ["ink", 3, "mist "] }),
  );
  expect(job.params).toMatchObject({ prompt: "ink, mist" });
});

test("A16 metadata above the limit is refused, not cut", async () => {
  const response = await post("/jobsRedis", { ...words("u"), note: "n".repeat(9_000) });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("8192")]);
});

test("A16 an outfit change takes both pictures as its own, apart from the same bytes in the gallery", async () => {
  const { services, owner } = scene;
  const bytes = await drawPng("tan");
  const mine = await ingest(services, { ownerId: owner.id, role: "upload", bytes, name: "mine.png" });
  const job = await jobOf(await outfit());
  expect(job).toMatchObject({
    kind: "outfit_change",
    retention: "ephemeral",
    params: { category: "auto", consent: true },
    metadata: { userId: "u-1001", shop: "north" },
    inputCount: 2,
  });
  const { jobInputs } = schema;
  const inputs = await services.db.select().from(jobInputs).where(eq(jobInputs.jobId, job.id));
  expect(inputs.map(({ role }) => role).toSorted()).toEqual(["garment", "person"]);
  expect(inputs.map(({ imageId }) => imageId)).not.toContain(mine.id);
});

test("A16 userId after the files, and a consent that is denied", async () => {
  const late = new FormData();
  for (const name of ["garmentImage", "personImage"])
    late.append(name, new Blob([new Uint8Array(await drawPng("olive"))]), "x.png");
  late.append("user_id", "u-2");
  const response = await scene.send("/jobChangeOutfit", { method: "POST", body: late });
  expect((await jobOf(response)).metadata).toEqual({ userId: "u-2" });
  expect((await outfit({ consent: "false" })).status).toBe(422);
});

test.each([
  ["the second picture is no picture", { garmentImage: new Blob(["text"]) }, 415],
  ["the garment is missing", { garmentImage: null }, 400],
  ["userId is missing", { userId: null }, 400],
  ["another file part", { extra: new Blob(["text"]) }, 413],
] as const)("A5 A16 nothing is left behind when %s", async (_name, changes, status) => {
  const left = await leftBehind();
  expect((await outfit(changes)).status).toBe(status);
  expect(await leftBehind()).toEqual(left);
});

test("A5 A16 nothing is left behind when the job is refused after both pictures were inserted", async () => {
  const { services } = scene;
  const left = await leftBehind();
  await services.db.execute(sql`
    create function refuse_links() returns trigger language plpgsql as $$ begin raise 'no links today'; end $$`);
  await services.db.execute(
    sql`create trigger refuse before insert on job_inputs execute function refuse_links()`,
  );
  try {
    expect((await outfit()).status).toBe(500);
  } finally {
    await services.db.execute(sql`drop trigger refuse on job_inputs`);
    await services.db.execute(sql`drop function refuse_links`);
  }
  expect(await leftBehind()).toEqual(left);
  expect((await outfit()).status).toBe(201);
});

async function leftBehind() {
  const { services, owner } = scene;
  const { jobs } = schema;
  return {
    jobs: await services.db.$count(jobs),
    images: (await rowsOf(services, owner.id)).length,
    objects: await listObjects(services),
    temp: await listTempFiles(services),
  };
}

test("A16 an admin's key acts for the user that it names, one of its own for each name", async () => {
  const { services, admin } = scene;
  const answers = await Promise.all(
    ["bob", "bob", "bob", "Bob", "bob ", admin.id, "owner@example.com"].map((name) =>
      post("/jobsRedis", words(name), admin.key),
    ),
  );
  const owners = [];
  for (const answer of answers) owners.push((await jobOf(answer)).ownerId);
  const [bob, again, third, ...others] = owners;
  expect([again, third]).toEqual([bob, bob]);
  expect(new Set([bob, ...others]).size).toBe(5);
  const people = [admin.id, scene.owner.id, scene.stranger.id];
  for (const owner of owners) expect(people).not.toContain(owner);
  const [user] = await services.db
    .select()
    .from(schema.users)
    .where(eq(schema.users.id, bob ?? ""));
  expect(user).toMatchObject({ name: "bob", role: "user" });
});

test("A16 such a user cannot sign in, whatever password it is given", async () => {
  const { services, admin } = scene;
  const job = await jobOf(await post("/jobsRedis", words("carol"), admin.key));
  const [user] = await services.db.select().from(schema.users).where(eq(schema.users.id, job.ownerId));
  const email = user?.email ?? "";
  const signIn = () => openTestBrowser(services).auth("/sign-in/email", { email, password: testPassword });
  expect((await signIn()).status).toBe(401);
  const { internalAdapter, password } = await authOf(services).$context;
  await internalAdapter.createAccount({
    userId: job.ownerId,
    accountId: job.ownerId,
    providerId: "credential",
    password: await password.hash(testPassword),
  });
  expect((await signIn()).status).toBe(400);
  const { sessions } = schema;
  expect(await services.db.$count(sessions, eq(sessions.userId, job.ownerId))).toBe(0);
});

test("A16 another key's userId names nobody: its jobs belong to its owner", async () => {
  const { stranger, admin } = scene;
  await jobOf(await post("/jobsRedis", words("dora"), admin.key));
  const before = await scene.services.db.$count(schema.clientUsers);
  const job = await jobOf(await post("/jobsRedis", words("dora"), stranger.key));
  expect(job.ownerId).toBe(stranger.id);
  expect((await jobOf(await post("/jobsRedis", words("new-name"), stranger.key))).ownerId).toBe(stranger.id);
  expect(await scene.services.db.$count(schema.clientUsers)).toBe(before);
});

test("A16 a banned user is not acted for", async () => {
  const { services, admin } = scene;
  const job = await jobOf(await post("/jobsRedis", words("eve"), admin.key));
  await services.db.update(schema.users).set({ banned: true }).where(eq(schema.users.id, job.ownerId));
  expect((await post("/jobsRedis", words("eve"), admin.key)).status).toBe(403);
});

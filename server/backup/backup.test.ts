import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import {
  addJob,
  addNode,
  addOwner,
  insertJob,
  localOffers,
  readJob,
  readStory,
  testQueue,
  until,
} from "@atelier/testing/jobs";
import { readSample } from "@atelier/testing/pictures";
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from "@atelier/testing/postgres";
import { startRedis } from "@atelier/testing/redis";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import {
  createTestServices,
  openAccount,
  openOwner,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { startTestWorker } from "@atelier/testing/worker";
import { eq, sql } from "drizzle-orm";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { waitUntil } from "../../scripts/process/tools.ts";
import { appliedMigrations, knownMigrations, migrateTo, schema } from "../db/index.ts";
import { listEndpoints, rotateSecret, testEndpoint } from "../deliveries/index.ts";
import { checkStore, ingest, purgeImages, storeOutput } from "../images/index.ts";
import { claim, complete, dispatch, type Job, type Lease, start } from "../jobs/index.ts";
import { parseConfig, parseEnv } from "../platform/index.ts";
import { openServices, type Services } from "../services.ts";
import { hashObject, type ImageDisk, listObjects, openDisk, openLocalDisk } from "../storage/index.ts";
import { backUp, checkBackup, restore } from "./index.ts";

let s3: TestS3;
/** The studio that is backed up, and a backup of it. */
let studio: TestServices;
let filled: Fill;
let shared: string;
let to: string;
/** Hashes of its objects when it was backed up. */
let objectsThen: Record<string, string | null>;
/** Of one test. */
let folder: string;
/** What a test opened, closed in reverse. */
let opened: (() => Promise<unknown>)[];

beforeAll(async () => {
  shared = await mkdtemp(path.join(os.tmpdir(), "atelier-backup-"));
  [s3, studio] = await Promise.all([startS3(), createTestServices()]);
  await checkStore(studio.services);
  filled = await fill(studio.services);
  to = path.join(shared, "backup");
  await save(studio.services, to);
  objectsThen = await hashObjects(studio.services.disk);
});
afterAll(async () => {
  await studio.close();
  await s3.destroy();
  await rm(shared, { recursive: true, force: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-backup-"));
  opened = [() => rm(folder, { recursive: true, force: true })];
});
afterEach(async () => {
  for (const close of opened.toReversed()) await close();
});

const never = new AbortController().signal;
const silent = { signal: never, onProgress: () => undefined };

async function openStudio(): Promise<TestServices> {
  const other = await createTestServices();
  opened.push(() => other.close());
  await checkStore(other.services);
  return other;
}

interface Fill {
  readonly userId: string;
  readonly upload: string;
  readonly completed: string;
  readonly running: string;
  readonly runningOnce: string;
  readonly waiting: string;
}

/** People, pictures, and jobs in all states. */
async function fill(services: Services): Promise<Fill> {
  const person = await openOwner(services, "one@example.test");
  await openAccount(services, "two@example.test");
  const upload = (
    await ingest(services, {
      ownerId: person.caller.userId,
      role: "upload",
      bytes: await readSample("chelsea.png"),
      name: 'Ein \\ "Titel"\ttab, 東京.png',
    })
  ).id;
  const owner = { userId: person.caller.userId, isGuest: false, imageId: upload } as const;
  const nodeId = await addNode(services, { slots: 3 });
  const afterwards: Promise<unknown>[] = [];
  const claiming = { ...services, later: (work: Promise<unknown>) => void afterwards.push(work) };
  const claimNext = async () => {
    const job = await claim(claiming, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) throw new Error("nothing to claim");
    const lease = { jobId: job.id, attempt: job.attempt, nodeId };
    await start(services, lease);
    return { job, lease };
  };
  // The job of `openOwner` is the first in the line.
  await dispatch(services, testQueue);
  const { job, lease } = await claimNext();
  await completeJob(services, job, lease);
  const ids: string[] = [];
  for (const once of [false, true]) {
    await addJob(services, { owner, once });
    ids.push((await claimNext()).job.id);
  }
  // The dispatch after a claim would take this one, and count its turn, after the backup.
  await Promise.all(afterwards);
  const waiting = await insertJob(services, { owner });
  const [running = "", runningOnce = ""] = ids;
  return {
    userId: owner.userId,
    upload,
    completed: job.id,
    running,
    runningOnce,
    waiting,
  };
}

async function completeJob(services: Services, job: Job, lease: Lease): Promise<void> {
  const file = path.join(shared, "result.png");
  await writeFile(file, await readSample("coffee.png"));
  const output = await storeOutput(services, {
    ownerId: job.ownerId,
    jobId: job.id,
    attempt: job.attempt,
    kind: "upscale",
    position: 0,
    path: file,
    mime: "image/png",
  });
  await complete(services, { lease, outputs: [output], facts: { tab: "a\tb\\n" } });
  const metadata = { text: "line\nbreak \\. 😀" };
  await services.db.update(schema.jobs).set({ metadata }).where(eq(schema.jobs.id, job.id));
  await services.db.insert(schema.jobLogs).values({
    jobId: job.id,
    number: 1,
    level: "warn",
    process: "worker",
    message: "a\\b",
    data: { a: 1 },
    createdAt: new Date(),
  });
}

const save = ({ env, disk }: Pick<Services, "env" | "disk">, to: string, change: object = {}) =>
  backUp({ databaseUrl: env.DATABASE_URL ?? "", disk, folder: to, ...silent, ...change });

/** A hash of all rows by table. */
async function hashRows(
  url: string,
  tables: readonly string[],
): Promise<Record<string, { count: number; md5: string }>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const hashes: Record<string, { count: number; md5: string }> = {};
    for (const table of tables) {
      const { rows } = await client.query(
        `select count(*)::int as count, md5(coalesce(string_agg(t::text, chr(10) order by t::text), '')) as md5 from ${table} t`,
      );
      hashes[table] = rows[0];
    }
    return hashes;
  } finally {
    await client.end();
  }
}

async function hashObjects(disk: ImageDisk): Promise<Record<string, string | null>> {
  const hashes: Record<string, string | null> = {};
  for (const root of ["users", "jobs"])
    for await (const page of listObjects(disk, root))
      for (const { key } of page) hashes[key] = await hashObject(disk, key);
  return hashes;
}

interface Target {
  readonly url: string;
  readonly env: Services["env"];
  readonly disk: ImageDisk;
  readonly open: () => Promise<Services>;
}

/** An empty database, and an empty folder or bucket. */
async function openTarget({
  bucket = false,
  redisUrl = "",
  database,
}: { bucket?: boolean; redisUrl?: string | undefined; database?: TestDatabase } = {}): Promise<Target> {
  const given = database ?? (await createEmptyDatabase());
  opened.push(() => given.drop());
  const { url } = given;
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-target-"));
  opened.push(() => rm(dataDir, { recursive: true, force: true }));
  const { env } = parseEnv({
    DATABASE_URL: url,
    ATELIER_DATA_DIR: dataDir,
    LOG_LEVEL: "silent",
    AUTH_SECRET: "a-secret-for-tests-that-is-long-enough-0123456789",
    REDIS_URL: redisUrl,
    ...(bucket ? { ...s3.env, S3_BUCKET: await s3.addBucket() } : {}),
  });
  if (!env) throw new Error("wrong environment");
  const disk = await openDisk(env);
  opened.push(async () => disk.close());
  const open = () => openServices({ env, config: parseConfig({}), name: "test" });
  return { url, env, disk, open };
}

function fillTarget({ url, disk, open }: Target, from: string, change: object = {}) {
  return restore({
    databaseUrl: url,
    disk,
    folder: from,
    skipsDamaged: false,
    takesOver: false,
    ...silent,
    async withServices(work) {
      const services = await open();
      try {
        await work(services);
      } finally {
        await services.close();
      }
    },
    ...change,
  });
}

const untouched = [
  "users",
  "sessions",
  "credentials",
  "api_keys",
  "invitations",
  "images",
  "job_inputs",
  "job_outputs",
  "job_logs",
  "idempotency_keys",
  "queue_turns",
  "consents",
  "node_queues",
  "job_figures",
  "figure_marks",
];

test("A16 a studio is backed up and restored into an empty one: every row and every object is the same", async () => {
  const { services } = studio;
  const { running, runningOnce, completed } = filled;
  const { manifest } = await checkBackup({ folder: to, ...silent });
  expect(manifest).toMatchObject({ deleted: [], damaged: [], migrations: knownMigrations() });
  const known = manifest.tables.map(({ name }) => name);
  const all = new Set([
    ...known,
    "recall_vectors",
    "rate_limits",
    "password_resets",
    "direct_uploads",
    "result_holds",
    "server_leases",
  ]);
  const rows = await services.db.execute<{ tablename: string }>(
    sql`select tablename from pg_tables where schemaname = 'public'`,
  );
  expect(new Set(rows.map(({ tablename }) => tablename))).toEqual(all);

  const target = await openTarget({ bucket: true });
  expect(await fillTarget(target, to)).toMatchObject({ skipped: 0, requeued: 1, failed: 1 });
  const changed = ["studio", "nodes", "jobs", "job_events", "deliveries", "turns"];
  const same = known.filter((name) => !changed.includes(name));
  expect(same).toEqual(expect.arrayContaining(untouched));
  expect(await hashRows(target.url, same)).toEqual(await hashRows(services.env.DATABASE_URL ?? "", same));
  const others = `(select * from jobs where id not in ('${running}', '${runningOnce}'))`;
  // The restore fails this job, so its owner gets a delivery.
  const owed = `(select * from deliveries where job_id is distinct from '${runningOnce}')`;
  expect(await hashRows(target.url, [others, owed])).toEqual(
    await hashRows(services.env.DATABASE_URL ?? "", [others, owed]),
  );
  expect(await hashObjects(target.disk)).toEqual(objectsThen);
  expect(Object.keys(objectsThen)).toHaveLength(9);

  const restored = await target.open();
  opened.push(() => restored.close());
  expect(await readJob(restored, running)).toMatchObject({
    status: "pending",
    charged: 0,
    nodeId: null,
    attempt: 1,
  });
  expect((await readStory(restored, running)).at(-1)).toMatchObject({ type: "restored", status: "pending" });
  expect(await readJob(restored, runningOnce)).toMatchObject({ status: "failed", errorCode: "worker_lost" });
  expect(await readJob(restored, completed)).toMatchObject({ status: "completed" });
  expect(await restored.db.select({ state: schema.nodes.state }).from(schema.nodes)).toEqual([
    { state: "gone" },
  ]);
});

test(
  "S9 secrets of webhooks are restored with the same AUTH_SECRET; with another one they have to be renewed",
  inAll,
  async () => {
    const target = await openTarget();
    await fillTarget(target, to);
    const restored = await target.open();
    opened.push(() => restored.close());
    const { userId: ownerId } = filled;
    const [endpoint] = await listEndpoints(restored, ownerId);
    expect(endpoint).toMatchObject({ url: "https://hooks.example.org/", needsNewSecret: false });

    const AUTH_SECRET = "the-restored-studio-was-given-another-secret-0123";
    const other = { ...restored, env: { ...restored.env, AUTH_SECRET } };
    const own = { ownerId, id: endpoint?.id ?? "" };
    expect(await listEndpoints(other, ownerId)).toMatchObject([{ needsNewSecret: true, isEnabled: true }]);
    await expect(testEndpoint(other, own)).rejects.toMatchObject({ code: "conflict" });
    await rotateSecret(other, own);
    expect(await listEndpoints(other, ownerId)).toMatchObject([
      { needsNewSecret: false, previousUntil: null },
    ]);
    await testEndpoint(other, own);
  },
);

/** Runs `action` once, when the first file of a picture is read: after the snapshot of the rows. */
function withInterruption({ env }: Services, action: () => Promise<void>): ImageDisk {
  const disk = openLocalDisk(env);
  let acted: Promise<void> | null = null;
  const open = disk.open.bind(disk);
  disk.open = async (key) => {
    await (acted ??= action());
    return open(key);
  };
  return disk;
}

test("A16 pictures that come and go during a backup: the rows are those of its beginning, and each has its files", async () => {
  const { services } = studio;
  const { userId, upload } = filled;
  const addUpload = async (name: string) =>
    (await ingest(services, { ownerId: userId, role: "upload", bytes: await readSample(name) })).id;
  const goes = await addUpload("rocket.jpg");
  const lost = await addUpload("astronaut.png");
  const [row] = await services.db.select().from(schema.images).where(eq(schema.images.id, lost));
  await rm(path.join(services.env.ATELIER_DATA_DIR, "files", row?.storageKey ?? "", "original.png"));
  let comes = "";
  const disk = withInterruption(services, async () => {
    comes = await addUpload("garment_tee.jpg");
    expect(await purgeImages(services, [goes])).toBe(1);
  });
  const during = path.join(folder, "backup");
  expect(await save({ ...services, disk }, during)).toMatchObject({ deleted: [goes], damaged: [lost] });

  const target = await openTarget();
  await fillTarget(target, during);
  const restored = await target.open();
  opened.push(() => restored.close());
  const ids = (await restored.db.select({ id: schema.images.id }).from(schema.images)).map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([upload, lost]));
  expect(ids).not.toContain(goes);
  expect(comes).not.toBe("");
  expect(ids).not.toContain(comes);
  const objects = Object.keys(await hashObjects(target.disk));
  expect(objects.filter((key) => key.includes(goes) || key.includes(comes))).toEqual([]);
  expect(objects.filter((key) => key.includes(upload))).toHaveLength(3);
});

test("A16 rows are those of one moment, also when a table waits for its turn", async () => {
  const { services } = studio;
  const client = new pg.Client({ connectionString: services.env.DATABASE_URL });
  await client.connect();
  const count = async () => Number((await client.query("select count(*) from images")).rows[0].count);
  try {
    const before = await count();
    // Users are copied before images, which wait for this lock.
    await client.query("begin; lock table images in access exclusive mode");
    const saved = save(services, path.join(folder, "backup"));
    const waiting = `select from pg_locks join pg_database on pg_database.oid = database
      and datname = current_database() where not granted and relation = 'images'::regclass`;
    expect(await waitUntil(async () => (await client.query(waiting)).rows.length > 0, 30_000)).toBe(true);
    await client.query("insert into users (id, name, email) values ('late', 'Late', 'late@example.test')");
    await client.query(
      `insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash)
       values (gen_random_uuid(), 'late', 'upload', 'users/late/0', '', 'image/png', 1, 1, 1, '')`,
    );
    await client.query("commit");
    const { tables } = await saved;
    expect(tables.find(({ name }) => name === "images")?.rows).toBe(before);
    expect(await count()).toBe(before + 1);
    await client.query("delete from images where owner_id = 'late'; delete from users where id = 'late'");
  } finally {
    await client.end();
  }
});

const isThere = (name: string) =>
  stat(path.join(folder, name)).then(
    () => true,
    () => false,
  );

test("A16 a backup that is broken off leaves nothing, and what a killed one leaves is no backup", async () => {
  const { services } = studio;
  const own = path.join(folder, "backup");
  const stop = new AbortController();
  const onProgress = ({ what }: { what: string }) => what === "pictures" && stop.abort();
  await expect(save(services, own, { signal: stop.signal, onProgress })).rejects.toThrow(/abort/);
  const atTables = new AbortController();
  const broken = save(services, own, { signal: atTables.signal, onProgress: () => atTables.abort() });
  await expect(broken).rejects.toThrow(/abort/);
  expect(await readdir(folder)).toEqual([]);

  // At the end of a killed one all but the manifest may be there.
  await save(services, own);
  await rm(path.join(own, "manifest.json"));
  await expect(checkBackup({ folder: own, ...silent })).rejects.toMatchObject({ code: "bad_request" });
  await expect(save(services, own)).rejects.toMatchObject({ code: "conflict" });
  await writeFile(`${own}2.part`, "");
  await expect(save(services, `${own}2`)).rejects.toMatchObject({ code: "conflict" });
  expect(await isThere("backup2")).toBe(false);
});

test("A16 a backup that stands still ends with the name of its step, and leaves nothing", inAll, async () => {
  const { services } = studio;
  const disk = openLocalDisk(services.env);
  disk.open = () => new Promise(() => undefined);
  const own = path.join(folder, "backup");
  const atPictures = save({ ...services, disk }, own, { stillMs: 1_000 });
  await expect(atPictures).rejects.toThrow(/stood still .*: copying pictures/);
  const client = new pg.Client({ connectionString: services.env.DATABASE_URL });
  await client.connect();
  try {
    await client.query("begin; lock table images in access exclusive mode");
    const atTable = save(services, own, { stillMs: 1_000 });
    await expect(atTable).rejects.toThrow(/stood still .*: copying the rows of images/);
  } finally {
    await client.end();
  }
  expect(await readdir(folder)).toEqual([]);
});

test("A16 a check finds a size, a sum and a version that are not right", async () => {
  const own = path.join(folder, "backup");
  await cp(to, own, { recursive: true });
  const { manifest } = await checkBackup({ folder: own, ...silent });
  const list = path.join(own, "pictures.jsonl");
  const lines = (await readFile(list, "utf8")).trimEnd().split("\n");
  const first = JSON.parse(lines[0] ?? "");
  const write = async (sizeBytes: number, change: object = {}) => {
    const text = `${[JSON.stringify({ ...first, sizeBytes }), ...lines.slice(1)].join("\n")}\n`;
    await writeFile(list, text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    const pictures = { ...manifest.pictures, sizeBytes: Buffer.byteLength(text), sha256 };
    pictures.totalBytes += sizeBytes - first.sizeBytes;
    await writeFile(
      path.join(own, "manifest.json"),
      JSON.stringify({ ...manifest, ...change, pictures: { ...pictures, ...change } }),
    );
    return checkBackup({ folder: own, ...silent });
  };
  expect(await write(first.sizeBytes)).toMatchObject({ damaged: 0 });
  for (const off of [-1, 1]) expect(await write(first.sizeBytes + off)).toMatchObject({ damaged: 1 });
  await expect(write(first.sizeBytes, { objects: 8 })).rejects.toThrow(/sums of the manifest/);
  await expect(write(first.sizeBytes, { totalBytes: 1 })).rejects.toThrow(/sums of the manifest/);
  const newer = { migrations: [...manifest.migrations, 9_999_999_999_999] };
  await expect(write(first.sizeBytes, newer)).rejects.toThrow(/newer version/);
});

test("S1 a backup is closed to other users of the machine", async () => {
  const entries = await readdir(to, { recursive: true, withFileTypes: true });
  const files = [to, ...entries.map((entry) => path.join(entry.parentPath, entry.name))];
  const modes = await Promise.all(files.map(async (file) => (await stat(file)).mode & 0o077));
  expect(new Set(modes)).toEqual(new Set([0]));
});

test(
  "A16 a restore that is broken off anywhere goes on when it is run again, and nobody uses the studio before",
  inAll,
  async () => {
    const { services } = studio;
    const target = await openTarget();
    const stateOf = async () => {
      const now = await target.open();
      const state = await checkStore(now);
      await now.close();
      return state;
    };
    for (const part of ["pictures", "tables"]) {
      const stop = new AbortController();
      const onProgress = ({ what }: { what: string }) => what === part && stop.abort();
      await expect(fillTarget(target, to, { signal: stop.signal, onProgress })).rejects.toThrow(/abort/);
    }
    const over = new Error("over");
    const beforeLastSteps = () => Promise.reject(over);
    await expect(fillTarget(target, to, { withServices: beforeLastSteps })).rejects.toThrow(over);
    expect(await stateOf()).toBe("other");
    const other = path.join(folder, "other");
    await save(services, other);
    await expect(fillTarget(target, other)).rejects.toThrow(/half of another restore/);
    const atEnd = async (work: (services: Services) => Promise<void>) => {
      const last = await target.open();
      await work(last);
      await last.close();
      throw over;
    };
    await expect(fillTarget(target, to, { withServices: atEnd })).rejects.toThrow(over);
    await fillTarget(target, to);
    expect(await stateOf()).toBe("own");
    const manifest = JSON.parse(await readFile(path.join(to, "manifest.json"), "utf8"));
    const rows = Object.entries(await hashRows(target.url, untouched));
    for (const [name, { count }] of rows)
      expect(manifest.tables).toContainEqual(expect.objectContaining({ name, rows: count }));
    expect(await hashObjects(target.disk)).toEqual(objectsThen);
    await expect(fillTarget(target, to)).rejects.toThrow(/not empty/);
  },
);

test("A16 a studio that is not empty or runs is refused, as is a damaged or a newer backup; nothing is changed", async () => {
  const own = path.join(folder, "backup");
  await cp(to, own, { recursive: true });
  const { manifest } = await checkBackup({ folder: own, ...silent });
  const used = await createTestDatabase();
  const target = await openTarget({ database: used });
  const running = await target.open();
  await checkStore(running);
  await expect(fillTarget(target, own)).rejects.toThrow(/Processes of the studio are connected/);
  await running.close();

  const table = path.join(own, "tables", "jobs.gz");
  const bytes = await readFile(table);
  await writeFile(table, Buffer.from(bytes.map((byte, at) => (at === 40 ? byte ^ 1 : byte))));
  await expect(fillTarget(target, own)).rejects.toThrow(/damaged: tables\/jobs.gz/);
  await writeFile(table, bytes);
  const file = path.join(own, "manifest.json");
  await writeFile(
    file,
    JSON.stringify({ ...manifest, migrations: [...manifest.migrations, 9_999_999_999_999] }),
  );
  await expect(fillTarget(target, own)).rejects.toThrow(/newer version/);
  await writeFile(file, JSON.stringify(manifest));

  // A studio that was started once and has no users is empty.
  const [image] = await studio.services.db
    .select()
    .from(schema.images)
    .where(eq(schema.images.id, filled.upload));
  const hash = image?.storedSha256 ?? "";
  const object = path.join(own, "objects", hash.slice(0, 2), hash);
  await writeFile(object, "damaged");
  expect(await checkBackup({ folder: own, ...silent })).toMatchObject({ damaged: 1 });
  await expect(fillTarget(target, own)).rejects.toThrow(/1 pictures are damaged/);
  expect(await fillTarget(target, own, { skipsDamaged: true })).toMatchObject({ skipped: 1 });
  const again = await target.open();
  opened.push(() => again.close());
  const left = await again.db.select({ id: schema.images.id }).from(schema.images);
  expect(left.map(({ id }) => id)).not.toContain(image?.id);
});

test(
  "A16 the store of the original is taken over only on request; the original is refused from then on",
  inAll,
  async () => {
    const { services } = await openStudio();
    await addOwner(services);
    const own = path.join(folder, "backup");
    await save(services, own);
    const target = { ...(await openTarget()), disk: services.disk };
    await expect(fillTarget(target, own)).rejects.toThrow(/--take-over-store/);
    expect(await checkStore(services)).toBe("own");
    const before = await hashObjects(services.disk);
    await fillTarget(target, own, { takesOver: true });
    expect(await hashObjects(services.disk)).toEqual(before);
    expect(await checkStore(services)).toBe("other");
    const foreign = { ...(await openTarget()), disk: studio.services.disk };
    await expect(fillTarget(foreign, own, { takesOver: true })).rejects.toThrow(/store is not empty/);
    expect(await checkStore(studio.services)).toBe("own");
  },
);

test("A16 a restore under another AUTH_SECRET says what can no longer be read", async () => {
  const { services } = studio;
  const browser = await openAccount(services, "factor@example.test");
  await browser.auth("/two-factor/enable", { password: testPassword });
  await services.db.update(schema.twoFactors).set({ verified: true });
  const from = path.join(folder, "sealed");
  await save(services, from);
  const same = await fillTarget(await openTarget(), from);
  expect(same.unreadable).toEqual({ factors: 0, webhooks: 0 });
  const target = await openTarget();
  const env = { ...target.env, AUTH_SECRET: "another-secret-for-tests-that-is-long-enough" };
  const open = () => openServices({ env, config: parseConfig({}), name: "test" });
  const other = await fillTarget({ ...target, env, open }, from);
  expect(other.unreadable).toEqual({ factors: 1, webhooks: 1 });
});

test("A16 the backup of an older version is restored and brought to this one", inAll, async () => {
  const older = await createEmptyDatabase();
  opened.push(() => older.drop());
  const last = knownMigrations()[7] ?? 0;
  await migrateTo(older.url, last);
  const { services } = studio;
  const { upload } = filled;
  const [image] = await services.db.select().from(schema.images).where(eq(schema.images.id, upload));
  const client = new pg.Client({ connectionString: older.url });
  await client.connect();
  await client.query("insert into users (id, name, email) values ('u', 'Old', 'old@example.test')");
  await client.query(
    `insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash)
     values ($1, 'u', 'upload', $2, $3, 'image/png', 1, 1, 1, '')`,
    [upload, image?.storageKey, image?.storedSha256],
  );
  await client.end();
  const own = path.join(folder, "backup");
  const manifest = await save(
    { env: { ...services.env, DATABASE_URL: older.url }, disk: services.disk },
    own,
  );
  expect(manifest).toMatchObject({ migrations: knownMigrations().slice(0, 8), storeMark: null });

  const prepared = await openTarget({ database: await createTestDatabase() });
  await expect(fillTarget(prepared, own)).rejects.toThrow(/without tables/);
  const target = await openTarget();
  await fillTarget(target, own);
  expect(await appliedMigrations(target.url)).toEqual(knownMigrations());
  // Later versions have added columns to both.
  const known = [
    "(select id, name, email, created_at from users)",
    "(select id, owner_id, storage_key from images)",
  ];
  expect(await hashRows(target.url, known)).toEqual(await hashRows(older.url, known));
  const restored = await target.open();
  opened.push(() => restored.close());
  expect(await checkStore(restored)).toBe("own");
});

test(
  "A16 A3 the queue of a restored studio fills itself from the rows: an empty Redis, and all jobs end",
  inAll,
  async () => {
    const { running, waiting } = filled;
    const redis = await startRedis();
    opened.push(() => redis.destroy());
    const target = await openTarget({ redisUrl: redis.url });
    await fillTarget(target, to);
    const restored = await target.open();
    opened.push(() => restored.close());
    const worker = await startTestWorker(restored);
    opened.push(() => worker.kill9());
    expect(await until(restored, running, "completed", "failed")).toMatchObject({
      status: "completed",
      charged: 0,
    });
    expect(await until(restored, waiting, "completed", "failed")).toMatchObject({ status: "completed" });
  },
);

import { addImage, addJob, addNode, localOffers, testQueue } from "@atelier/testing/jobs";
import { addGuest, listObjects, readSample } from "@atelier/testing/pictures";
import {
  captureLog,
  createTestServices,
  openAccount,
  openAdmin,
  openOwner,
  openTestBrowser,
  race,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { inAll } from "@atelier/testing/cases";
import {
  actAs,
  type Caller,
  createResetLink,
  findAccount,
  resolveCaller,
  spendResetLink,
  userTables,
  workerAccount,
  setAdminFactor,
} from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { beginUpload, ingest, readUsage } from "../images/index.ts";
import {
  claim,
  complete,
  confirmCancel,
  dispatch,
  findStops,
  retryAny,
  submit,
  sweep,
} from "../jobs/index.ts";
import { AppError, newId, parseConfig } from "../platform/index.ts";
import {
  deleteOwnAccount,
  deleteUser,
  purgeDeleted,
  resetFactors,
  setQuota,
  setRole,
  suspend,
  unsuspend,
} from "./index.ts";
import { purgeUser } from "./purge.ts";

let fixture: TestServices;
let adminId: string;

beforeAll(async () => {
  fixture = await createTestServices();
  adminId = (await callerOf(await openAdmin(fixture.services, "admin@example.com"))).userId;
});
afterAll(() => fixture.close());

const { users, jobs, images } = schema;
let made = 0;
const address = (name: string) => `${name}-${(made += 1)}@example.com`;

async function callerOf({ headers }: { readonly headers: Headers }): Promise<Caller> {
  const caller = await resolveCaller(fixture.services, headers);
  if (!caller) throw new Error("no session");
  return caller;
}

async function openUser(name: string) {
  const email = address(name);
  const browser = await openAccount(fixture.services, email);
  return { browser, email, caller: await callerOf(browser), userId: (await callerOf(browser)).userId };
}

const act = (userId: string) => ({ userId, adminId });
const byKey = (key: string) => new Headers({ authorization: `Bearer ${key}` });
const refusal = (code: string, message?: RegExp) => ({ code, ...(message ? { message } : {}) });

describe("suspended users", () => {
  test("S1 a sign-in that is being checked meanwhile begins no session that a later day would find", async () => {
    const { services } = fixture;
    const { email, userId } = await openUser("overtaken");
    const late = openTestBrowser(services);
    const [, entered] = await race(services, userId, [
      () => suspend(services, act(userId)),
      () => late.auth("/sign-in/email", { email, password: testPassword }),
    ]);
    expect(entered).toMatchObject({ status: "fulfilled", value: { status: 401 } });
    await unsuspend(services, act(userId));
    expect(await resolveCaller(services, late.headers)).toBeNull();
  });

  test("S1 sessions and API keys stop at once, waiting jobs are cancelled, running ones are asked to stop", async () => {
    const { services } = fixture;
    const email = address("suspended");
    const owner = await openOwner(services, email);
    const { userId } = owner.caller;
    const nodeId = await addNode(services);
    const running = await addJob(services, {
      owner: { userId, isGuest: false, imageId: owner.imageId },
      queue: testQueue,
    });
    await sweep(services);
    const claimed = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    const waitingId = claimed?.id === running ? owner.jobId : running;
    expect(await suspend(services, act(userId))).toEqual({ cancelledJobs: 2 });
    expect(await resolveCaller(services, owner.browser.headers)).toBeNull();
    expect(await resolveCaller(services, byKey(owner.apiKey))).toBeNull();
    const [waiting] = await services.db.select().from(jobs).where(eq(jobs.id, waitingId));
    expect(waiting?.status).toBe("cancelled");
    const lease = { jobId: claimed?.id ?? "", attempt: 1, nodeId };
    expect(await findStops(services, [lease])).toEqual({ cancelled: [lease], lost: [] });
    expect(await confirmCancel(services, lease)).toBe(true);

    const answer = await openTestBrowser(services).auth("/sign-in/email", {
      email,
      password: testPassword,
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      {
        code: "BANNED_USER",
        message: "An admin of this studio has suspended this account. Ask them about it.",
      },
    ]);
    await unsuspend(services, act(userId));
    expect(await resolveCaller(services, owner.browser.headers)).toBeNull();
    expect(await resolveCaller(services, byKey(owner.apiKey))).toMatchObject({ userId });
  });

  test("S1 a job that is accepted in the moment of the suspension is cancelled by the sweep, and no admin runs it again", async () => {
    const { services } = fixture;
    const owner = await openOwner(services, address("late"));
    const { userId } = owner.caller;
    await suspend(services, act(userId));
    // As a request does whose caller was resolved before.
    const request = { kind: "upscale", params: {}, inputs: { image: owner.imageId } };
    const { id } = await submit(services, request, { submitter: owner.caller });
    await sweep(services);
    const [late] = await services.db.select().from(jobs).where(eq(jobs.id, id));
    expect(late?.status).toBe("cancelled");
    await expect(retryAny(services, { id })).rejects.toMatchObject(refusal("conflict", /suspended/));
  });

  test("nobody suspends themselves or the workers' account, and unknown users are not found", async () => {
    const { services } = fixture;
    await expect(suspend(services, act(adminId))).rejects.toMatchObject(refusal("conflict", /yourself/));
    const workers = await workerAccount(services);
    await expect(suspend(services, act(workers.id))).rejects.toMatchObject(refusal("conflict", /workers/));
    await expect(suspend(services, act(newId()))).rejects.toMatchObject(refusal("not_found"));
  });
});

describe("admins", () => {
  test("the only admin is neither demoted, suspended nor deleted, by nobody", async () => {
    const { services } = fixture;
    const byOperator = { userId: adminId, adminId: null };
    const only = refusal("conflict", /only admin/);
    await expect(setRole(services, { ...byOperator, role: "user" })).rejects.toMatchObject(only);
    await expect(suspend(services, byOperator)).rejects.toMatchObject(only);
    const confirm = "admin@example.com";
    await expect(deleteUser(services, { ...byOperator, confirm })).rejects.toMatchObject(only);
    const caller: Caller = { userId: adminId, isGuest: false, isAdmin: true, via: "session" };
    await expect(deleteOwnAccount(services, { caller, password: testPassword })).rejects.toMatchObject(only);
  });

  test("an account becomes an admin and an ordinary one again; a guest and a suspended account do not", async () => {
    const { services } = fixture;
    const { userId, browser } = await openUser("promoted");
    await setRole(services, { ...act(userId), role: "admin" });
    expect(await callerOf(browser)).toMatchObject({ isAdmin: true });
    await setRole(services, { ...act(userId), role: "user" });
    expect(await callerOf(browser)).toMatchObject({ isAdmin: false });
    await suspend(services, act(userId));
    for (const id of [userId, await addGuest(services)])
      await expect(setRole(services, { ...act(id), role: "admin" })).rejects.toMatchObject(
        refusal("conflict"),
      );
  });

  test("a user of a client does not become an admin, and is none who could take the place of the only one", async () => {
    const { services } = fixture;
    const { userId } = await actAs(services, "bob");
    await expect(setRole(services, { ...act(userId), role: "admin" })).rejects.toMatchObject(
      refusal("conflict", /client/),
    );
    await services.db.update(users).set({ role: "admin" }).where(eq(users.id, userId));
    await expect(suspend(services, { userId: adminId, adminId: null })).rejects.toMatchObject(
      refusal("conflict", /only admin/),
    );
    await setRole(services, { ...act(userId), role: "user" });
  });

  test("of two admins who delete, suspend or demote each other at once one stays", inAll, async () => {
    const { services } = fixture;
    await services.db.update(users).set({ role: "user" }).where(eq(users.id, adminId));
    try {
      for (let round = 0; round < 6; round += 1) {
        const pair = [await openUser("pair"), await openUser("pair")] as const;
        for (const { userId } of pair)
          await services.db.update(users).set({ role: "admin" }).where(eq(users.id, userId));
        const remove = [
          (userId: string, by: string, email: string) =>
            deleteUser(services, { userId, adminId: by, confirm: email }),
          (userId: string, by: string) => suspend(services, { userId, adminId: by }),
          (userId: string, by: string) => setRole(services, { userId, adminId: by, role: "user" }),
        ][round % 3];
        const [a, b] = pair;
        const ends = await Promise.allSettled([
          remove?.(a.userId, b.userId, a.email),
          remove?.(b.userId, a.userId, b.email),
        ]);
        const refused = ends.filter((end) => end.status === "rejected");
        expect(refused).toHaveLength(1);
        expect(refused[0]?.reason).toMatchObject({ code: "forbidden" });
        const left = await services.db
          .select({ id: users.id })
          .from(users)
          .where(and(eq(users.role, "admin"), sql`banned is not true`));
        expect(left).toHaveLength(1);
        await services.db.update(users).set({ role: "user" });
      }
    } finally {
      await services.db.update(users).set({ role: "admin" }).where(eq(users.id, adminId));
    }
  });
});

describe("quota", () => {
  test("a quota of one's own counts for uploads, direct uploads and jobs; null is the studio's", async () => {
    const { services } = fixture;
    const owner = await openOwner(services, address("quota"));
    const { userId } = owner.caller;
    const { usedBytes, limitBytes } = await readUsage(services, userId);
    expect(limitBytes).toBe(services.config.limits.bytesPerUser);
    const upload = async () =>
      ingest(services, { ownerId: userId, role: "upload", bytes: await readSample("rocket.jpg") });
    const announced = { name: "", mime: "image/png", sizeBytes: 10, role: "upload" } as const;
    const begin = () => beginUpload(services, { ownerId: userId, announced });
    const request = { kind: "upscale", params: {}, inputs: { image: owner.imageId } };
    const run = () => submit(services, request, { submitter: owner.caller });
    for (const quotaBytes of [0, usedBytes]) {
      await setQuota(services, { ...act(userId), quotaBytes });
      for (const use of [upload, begin, run])
        await expect(use()).rejects.toMatchObject({
          code: "storage_quota",
          details: { usedBytes, limitBytes: quotaBytes },
        });
    }
    await setQuota(services, { ...act(userId), quotaBytes: usedBytes + 10_000_000 });
    for (const use of [begin, run, upload]) await use();
    // Above the studio's default as well.
    const more = services.config.limits.bytesPerUser * 2;
    await setQuota(services, { ...act(userId), quotaBytes: more });
    expect((await readUsage(services, userId)).limitBytes).toBe(more);
    await setQuota(services, { ...act(userId), quotaBytes: null });
    expect((await readUsage(services, userId)).limitBytes).toBe(limitBytes);
  });
});

describe("new password by a link", () => {
  const signIn = async (email: string, password: string) =>
    (await openTestBrowser(fixture.services).auth("/sign-in/email", { email, password })).status;

  test("the link sets a password once and ends all sessions; the database holds its hash", async () => {
    const { services } = fixture;
    const { userId, email, browser } = await openUser("forgetful");
    const first = await createResetLink(services, { userId, adminId: null });
    const { token } = await createResetLink(services, { userId, adminId: null });
    const rows = await services.db.select().from(schema.passwordResets);
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(await signIn(email, testPassword)).toBe(200);
    const set = (with_: string, password: string) => spendResetLink(services, { token: with_, password });
    await expect(set(token, "short")).rejects.toMatchObject(refusal("bad_request"));
    await expect(set(first.token, "a new password")).rejects.toMatchObject(refusal("not_found"));
    const ends = await Promise.allSettled([set(token, "a new password"), set(token, "a new password")]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await resolveCaller(services, browser.headers)).toBeNull();
    expect([await signIn(email, testPassword), await signIn(email, "a new password")]).toEqual([401, 200]);
  });

  test("a link that could not end the sessions sets no password and works again", async () => {
    const { services } = fixture;
    const { userId, email, browser } = await openUser("unlucky");
    const { token } = await createResetLink(services, { userId, adminId: null });
    const spend = () => spendResetLink(services, { token, password: "a new password" });
    await services.db.execute(
      sql`create function fail() returns trigger language plpgsql as 'begin raise; end'`,
    );
    await services.db.execute(
      sql`create trigger fail before delete on ${schema.sessions} for each row execute function fail()`,
    );
    try {
      await expect(spend()).rejects.toThrow(/delete from "sessions"/);
    } finally {
      await services.db.execute(sql`drop function fail cascade`);
    }
    expect(await signIn(email, testPassword)).toBe(200);
    await spend();
    expect(await signIn(email, "a new password")).toBe(200);
    expect(await resolveCaller(services, browser.headers)).toBeNull();
  });

  test("of links that are made at once one works", async () => {
    const { services } = fixture;
    const { userId } = await openUser("hasty");
    await Promise.all(Array.from({ length: 8 }, () => createResetLink(services, { userId, adminId: null })));
    const { passwordResets } = schema;
    expect(await services.db.$count(passwordResets, eq(passwordResets.userId, userId))).toBe(1);
  });

  test("an expired link, and one of a suspended user, sets nothing; a user without an address gets none", async () => {
    const { services } = fixture;
    const { userId, email } = await openUser("slow");
    const { token } = await createResetLink(services, { userId, adminId: null });
    await services.db.update(schema.passwordResets).set({ expiresAt: new Date(0) });
    await expect(spendResetLink(services, { token, password: "a new password" })).rejects.toMatchObject(
      refusal("not_found"),
    );
    const next = await createResetLink(services, { userId, adminId: null });
    await suspend(services, act(userId));
    await expect(
      spendResetLink(services, { token: next.token, password: "a new password" }),
    ).rejects.toMatchObject(refusal("not_found"));
    await unsuspend(services, act(userId));
    expect(await signIn(email, testPassword)).toBe(200);
    const guestId = await addGuest(services);
    await expect(createResetLink(services, { userId: guestId, adminId: null })).rejects.toMatchObject(
      refusal("conflict"),
    );
  });
});

/** Claims the only job of a user, whatever else waits in the studio. */
async function claimJobOf(userId: string) {
  const { services } = fixture;
  const queue = `queue-${(made += 1)}`;
  await services.db.update(jobs).set({ queue, status: "pending" }).where(eq(jobs.ownerId, userId));
  const nodeId = await addNode(services, { queue });
  await dispatch(services, queue);
  const job = await claim(services, { nodeId, queue, offers: localOffers });
  expect(job?.ownerId).toBe(userId);
  return { jobId: job?.id ?? "", attempt: job?.attempt ?? 0, nodeId };
}

/** Adds one row of the user to each table; what `openOwner` makes is there already. */
const fillers: Readonly<Record<string, (userId: string, jobId: string) => Promise<unknown> | null>> = {
  users: () => null,
  sessions: () => null,
  credentials: () => null,
  two_factors: (userId) =>
    fixture.services.db
      .insert(schema.twoFactors)
      .values({ id: newId(), userId, secret: newId(), backupCodes: newId() }),
  passkeys: (userId) =>
    fixture.services.db.insert(schema.passkeys).values({
      id: newId(),
      userId,
      name: "key",
      publicKey: newId(),
      credentialID: newId(),
      counter: 0,
      deviceType: "singleDevice",
      backedUp: false,
    }),
  api_keys: () => null,
  audit_entries: () => null,
  images: () => null,
  // Noted by a trigger.
  stack_changes: () => null,
  stack_months: (ownerId) =>
    fixture.services.db.insert(schema.stackMonths).values({ ownerId, stackId: newId(), month: "2026-11-01" }),
  month_counts: (ownerId) =>
    fixture.services.db.insert(schema.monthCounts).values({ ownerId, month: "2026-11-01", pictures: 1 }),
  likenesses: () => null,
  duplicate_pairs: (ownerId) =>
    fixture.services.db.execute(sql`
      insert into duplicate_pairs (image_id, twin_id, owner_id)
      select id, id, owner_id from images where owner_id = ${ownerId} limit 1`),
  direct_uploads: () => null,
  jobs: () => null,
  password_resets: (userId) => createResetLink(fixture.services, { userId, adminId: null }),
  invitations: (createdBy) =>
    fixture.services.db
      .insert(schema.invitations)
      .values({ id: newId(), tokenHash: newId(), createdBy, expiresAt: new Date() }),
  batches: (ownerId) => fixture.services.db.insert(schema.batches).values({ id: newId(), ownerId, size: 1 }),
  edits: () => null,
  wardrobe_items: (ownerId) =>
    fixture.services.db.execute(sql`
      insert into wardrobe_items (id, owner_id, image_id, what, tags)
      select ${newId()}, owner_id, id, 'garment', '{}' from images where owner_id = ${ownerId} limit 1`),
  tags: (ownerId) =>
    fixture.services.db.insert(schema.tags).values({ id: newId(), ownerId, name: "x", key: newId() }),
  boards: (ownerId) =>
    fixture.services.db.insert(schema.boards).values({ id: newId(), ownerId, name: "x", key: "x" }),
  board_members: async (ownerId) => {
    const boardId = newId();
    await fixture.services.db.insert(schema.boards).values({ id: boardId, ownerId, name: "y", key: "y" });
    await fixture.services.db.insert(schema.boardMembers).values({ boardId, userId: ownerId, right: "see" });
  },
  presets: (ownerId) =>
    fixture.services.db
      .insert(schema.presets)
      .values({ id: newId(), ownerId, type: "list", name: "x", key: newId(), content: { lines: ["y"] } }),
  links: (ownerId) =>
    fixture.services.db.insert(schema.links).values({ id: newId(), ownerId, tokenHash: newId() }),
  idempotency_keys: (ownerId, jobId) =>
    fixture.services.db
      .insert(schema.idempotencyKeys)
      .values({ ownerId, key: "k", requestSha256: "r", jobId }),
  provider_attempts: (ownerId, jobId) =>
    fixture.services.db.insert(schema.providerAttempts).values({
      id: newId(),
      jobId,
      ownerId,
      provider: "fal",
      keyId: "key",
      model: "model",
      endpoint: "endpoint",
      state: "failed",
      token: newId(),
    }),
  daily_spend: (ownerId) =>
    fixture.services.db.insert(schema.dailySpend).values({ ownerId, day: "2026-11-01", usd: 1 }),
  spending_caps: (userId) =>
    fixture.services.db.insert(schema.spendingCaps).values({ userId, dailyUsd: 1, monthlyUsd: null }),
  key_caps: (userId) =>
    fixture.services.db.insert(schema.keyCaps).values({ keyId: newId(), userId, usd: 1, period: "month" }),
  client_users: (userId) =>
    fixture.services.db.insert(schema.clientUsers).values({ userId, name: `client ${userId}` }),
  client_files: (ownerId) =>
    fixture.services.db.execute(sql`
      insert into ${schema.clientFiles} (owner_id, user_name, file_name, image_id)
      select ${ownerId}, 'client', 'one.png', id from ${images} where owner_id = ${ownerId} and role = 'upload' limit 1`),
  queue_turns: (ownerId) =>
    fixture.services.db
      .insert(schema.queueTurns)
      .values({ queue: "q", ownerId, servedAt: new Date() })
      .onConflictDoNothing(),
  deliveries: (ownerId, jobId) =>
    fixture.services.db.insert(schema.deliveries).values({
      id: newId(),
      jobId,
      ownerId,
      channel: "webhook",
      target: "https://hooks.example.test/",
      event: "job.completed",
    }),
  webhook_endpoints: (ownerId) =>
    fixture.services.db
      .insert(schema.webhookEndpoints)
      .values({ id: newId(), ownerId, url: "https://hooks.example.test/", secret: "whsec_secret" }),
  notification_settings: (ownerId) =>
    fixture.services.db
      .insert(schema.notificationSettings)
      .values({ ownerId, channel: "telegram", target: "chat" }),
  telegram_links: (userId) =>
    fixture.services.db.insert(schema.telegramLinks).values({ userId, chatId: newId(), name: "Ann" }),
  telegram_codes: (userId) =>
    fixture.services.db
      .insert(schema.telegramCodes)
      .values({ id: newId(), userId, codeHash: newId(), expiresAt: new Date() }),
  telegram_requests: (userId) =>
    fixture.services.db
      .insert(schema.telegramRequests)
      .values({ id: newId(), userId, chatId: "1", photos: [] }),
  consents: (ownerId) =>
    fixture.services.db
      .insert(schema.consents)
      .values({ id: newId(), ownerId, storedSha256: "s", statement: "adult" }),
  // Those of `openOwner`.
  assistant_conversations: () => null,
  assistant_messages: () => null,
  assistant_runs: () => null,
  memories: () => null,
  recall_vectors: (ownerId) =>
    fixture.services.db.execute(sql`
      insert into recall_vectors (id, owner_id, kind, model, dimensions, codes, from_at, to_at)
      values (${newId()}, ${ownerId}, 'memory', 'local/m', 1, '\\x7f', now(), now())`),
  proposals: () => null,
  assistant_settings: (userId) => fixture.services.db.insert(schema.assistantSettings).values({ userId }),
  model_calls: (ownerId) =>
    fixture.services.db
      .insert(schema.modelCalls)
      .values({ id: newId(), ownerId, stage: "responder", try: 1, model: "local/m", expectedUsd: 0 }),
  prompts: (authorId) =>
    fixture.services.db
      .insert(schema.prompts)
      .values({ role: "responder", version: (made += 1) + 100, text: "Be brief.", authorId }),
  server_drains: (requestedBy) =>
    fixture.services.db
      .insert(schema.serverDrains)
      .values({ url: `http://drained-${(made += 1)}.test`, requestedBy }),
};

async function tableNames(): Promise<string[]> {
  const rows = await fixture.services.db.execute<{ name: string }>(sql`
    select table_name as name from information_schema.tables where table_schema = 'public' order by 1`);
  return rows.map(({ name }) => name);
}

/** Tables with a row in which one of these texts stands anywhere. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const table of await tableNames()) {
    const rows = await fixture.services.db.execute(sql`
      select from ${sql.identifier(table)} t where ${sql.join(
        texts.map((text) => sql`t::text like ${`%${text}%`}`),
        sql` or `,
      )} limit 1`);
    if (rows.length > 0) found.push(table);
  }
  return found;
}

/** All rows of all tables that name this user, as texts. */
async function rowsWith(text: string): Promise<string[]> {
  const all: string[] = [];
  for (const table of await tableNames()) {
    const rows = await fixture.services.db.execute<{ row: string }>(
      sql`select t::text as row from ${sql.identifier(table)} t where t::text like ${`%${text}%`} order by 1`,
    );
    all.push(...rows.map(({ row }) => `${table} ${row}`));
  }
  return all;
}

/** A user with a row in every table, an ended job with a result, logs and a mask, and a pending job. */
async function openFilled(name: string) {
  const { services } = fixture;
  const email = address(name);
  const owner = await openOwner(services, email);
  const { userId } = owner.caller;
  const lease = await claimJobOf(userId);
  const storageKey = `jobs/${lease.jobId}/1/0`;
  const bytes = Buffer.from("result");
  for (const file of ["original.png", "preview.webp", "thumbnail.webp"])
    await services.disk.put(`${storageKey}/${file}`, bytes);
  const outputs = [
    {
      id: newId(),
      storageKey,
      storedSha256: "s",
      mime: "image/png" as const,
      widthPx: 1,
      heightPx: 1,
      sizeBytes: 6,
      thumbhash: "",
    },
  ];
  await complete(services, { lease, outputs, facts: {} });
  await services.db.delete(schema.nodes);
  const createdAt = new Date();
  const line = {
    jobId: lease.jobId,
    number: 1,
    level: "info" as const,
    process: "test",
    message: "m",
    data: {},
    createdAt,
  };
  await services.db.insert(schema.jobLogs).values(line);
  await ingest(services, { ownerId: userId, role: "mask", bytes: await readSample("rocket.jpg") });
  const starred = await addImage(services, userId);
  await services.db.update(images).set({ starred: true }).where(eq(images.id, starred));
  await addJob(services, { owner: { userId, isGuest: false, imageId: starred } });
  await services.disk.put(`incoming/${owner.uploadId}/file`, "sent");
  for (const fill of Object.values(fillers)) await fill(userId, lease.jobId);
  return { ...owner, userId, email, endedJobId: lease.jobId };
}

describe("deleted users", () => {
  test("every table with a user's rows is in the list, and is filled below", async () => {
    const { db } = fixture.services;
    const keys = await db.execute<{ table: string; column: string }>(sql`
      select c.conrelid::regclass::text as "table", a.attname as "column" from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
      where c.contype = 'f' and c.confrelid = 'users'::regclass`);
    const listed = Object.entries(userTables).map(([table, { column }]) => ({ table, column }));
    const byTable = (a: { table: string }, b: { table: string }) => a.table.localeCompare(b.table);
    const withoutKey = [
      { table: "users", column: "id" },
      { table: "audit_entries", column: "actor_id" },
    ];
    expect([...keys, ...withoutKey].toSorted(byTable)).toEqual(listed.toSorted(byTable));
    expect(Object.keys(fillers).toSorted()).toEqual(Object.keys(userTables).toSorted());
    // A column that holds a user's id without a foreign key would be found by its name.
    const named = await db.execute<{ name: string }>(sql`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and column_name ~ '(^|_)(user|owner|admin|guest|actor|person)(_id)?$|_by$' order by 1`);
    const known = new Set(listed.map(({ table, column }) => `${table}.${column}`));
    // Impersonation is switched off; a signing key is sealed by a secret, a picture described by a file, a model or its owner; `actor` is a
    // word, and entries of the audit log stay.
    expect(named.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([
      "audit_entries.actor",
      "audit_entries.person_id",
      "images.described_by",
      "sessions.impersonated_by",
      "signing_keys.sealed_by",
    ]);
  });

  test("F29 everything of the user goes, in every table and in the store, and nothing of another user", async () => {
    const { services } = fixture;
    const other = await openFilled("other");
    const gone = await openFilled("gone");
    for (const [table, { column }] of Object.entries(userTables)) {
      const rows = await services.db.execute(
        sql`select from ${sql.identifier(table)} where ${sql.identifier(column)} = ${gone.userId}`,
      );
      expect([table, rows.length > 0]).toEqual([table, true]);
    }
    const own = await services.db.select().from(images).where(eq(images.ownerId, gone.userId));
    const ids = [
      gone.userId,
      gone.email,
      gone.endedJobId,
      gone.jobId,
      gone.uploadId,
      ...own.map(({ id }) => id),
    ];
    const prefixes = [...own.map(({ storageKey }) => storageKey), `incoming/${gone.uploadId}`];
    const isOwn = (key: string) => prefixes.some((prefix) => key.startsWith(prefix));
    const objects = await listObjects(services);
    expect(objects.filter(isOwn)).toHaveLength(13);
    const rowsOfOther = await rowsWith(other.userId);

    await expect(deleteUser(services, { ...act(gone.userId), confirm: "yes" })).rejects.toMatchObject(
      refusal("bad_request", /gone-/),
    );
    expect(await deleteUser(services, { ...act(gone.userId), confirm: gone.email })).toEqual({
      isGone: true,
    });
    expect(await tablesWith(ids)).toEqual(["audit_entries"]);
    expect(await tablesWith([gone.email])).toEqual([]);
    expect(await listObjects(services)).toEqual(objects.filter((key) => !isOwn(key)));
    expect(await rowsWith(other.userId)).toEqual(rowsOfOther);
    expect(await resolveCaller(services, gone.browser.headers)).toBeNull();
    expect(await resolveCaller(services, byKey(gone.apiKey))).toBeNull();
    // The address is free again.
    await openAccount(services, gone.email);
  });

  test("F29 a deletion that was broken off half-way is finished by the sweep, also when the store was away", async () => {
    const { services } = fixture;
    const { userId, email } = await openFilled("half");
    for (let count = 0; count < 25; count += 1) await addImage(services, userId);
    const away = vi
      .spyOn(services.disk.driver, "removeBelow")
      .mockRejectedValue(new AppError("storage_unavailable"));
    try {
      expect(await deleteUser(services, { ...act(userId), confirm: email })).toEqual({ isGone: false });
      // From the first moment on nothing tells who it was.
      await expect(findAccount(services, { email })).rejects.toMatchObject(refusal("not_found"));
      expect(await tablesWith([email])).toEqual([]);
      expect(await purgeDeleted(services)).toEqual([]);
    } finally {
      away.mockRestore();
    }
    expect(await purgeUser(services, userId, AbortSignal.abort())).toBe(false);
    const left = await services.db.$count(images, eq(images.ownerId, userId));
    expect(left).toBeGreaterThan(0);
    const another = await fixture.openAnother();
    const passes = await Promise.all([purgeDeleted(services), purgeDeleted(another)]);
    const rest = await purgeDeleted(services);
    expect([...passes.flat(), ...rest]).toContain(userId);
    expect(await tablesWith([userId])).toEqual(["audit_entries"]);
    expect((await listObjects(services)).filter((key) => key.includes(userId))).toEqual([]);
  });

  test("a pass whose time is over removes no job and no upload, and the next one goes on", async () => {
    const { services } = fixture;
    const { userId } = await openFilled("timed");
    await services.db.update(users).set({ banned: true, deletedAt: new Date() }).where(eq(users.id, userId));
    const { directUploads } = schema;
    const left = async () => [
      await services.db.$count(jobs, eq(jobs.ownerId, userId)),
      await services.db.$count(directUploads, eq(directUploads.ownerId, userId)),
    ];
    const late = vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
    try {
      expect(await purgeDeleted(services)).toEqual([]);
    } finally {
      late.mockRestore();
    }
    expect(await purgeUser(services, userId, AbortSignal.abort())).toBe(false);
    expect(await left()).toEqual([2, 1]);
    expect(await purgeDeleted(services)).toEqual([userId]);
  });

  test("a running job is asked to stop, and its user stays hidden until the worker has let go", async () => {
    const { services } = fixture;
    const email = address("running");
    const owner = await openOwner(services, email);
    const { userId } = owner.caller;
    const lease = await claimJobOf(userId);
    const deleting = deleteUser(services, { ...act(userId), confirm: email });
    await expect.poll(async () => (await findStops(services, [lease])).cancelled).toEqual([lease]);
    await expect(suspend(services, act(userId))).rejects.toMatchObject(refusal("not_found"));
    expect(await confirmCancel(services, lease)).toBe(true);
    expect(await deleting).toEqual({ isGone: true });
  });

  test("what comes in while a user is deleted goes as well", async () => {
    const { services } = fixture;
    const { userId, email } = await openUser("racing");
    const ends: string[] = [];
    const { log, lines } = captureLog();
    const write = async () => {
      for (;;) {
        const end = await addImage({ ...services, log }, userId).then(
          () => "stored",
          () => "refused",
        );
        ends.push(end);
        if (end === "refused") return;
      }
    };
    const writers = [write(), write(), write()];
    await expect.poll(() => ends.length).toBeGreaterThan(3);
    await deleteUser(services, { ...act(userId), confirm: email });
    await Promise.all(writers);
    await expect
      .poll(() => purgeDeleted(services).then(() => services.db.$count(users, eq(users.id, userId))))
      .toBe(0);
    expect(await tablesWith([userId])).toEqual(["audit_entries"]);
    // A picture goes to the sweep, and the log says so, when the database did not say whether its row came in.
    const swept = lines.filter((line) => line.includes("left to the orphan sweep"));
    const isSwept = (key: string) => swept.some((line) => key.startsWith(JSON.parse(line).storageKey));
    const left = (await listObjects(services)).filter((key) => key.includes(userId) && !isSwept(key));
    expect(left).toEqual([]);
  });

  test("an account is deleted by its own user with the password, a guest without; a key and a wrong password are not enough", async () => {
    const { services } = fixture;
    const { userId, caller } = await openUser("leaving");
    const remove = (who: Caller, password?: string) => deleteOwnAccount(services, { caller: who, password });
    for (const password of [undefined, "", "a wrong password"])
      await expect(remove(caller, password)).rejects.toMatchObject(refusal("forbidden"));
    await expect(remove({ ...caller, via: "api_key" }, testPassword)).rejects.toMatchObject(
      refusal("forbidden"),
    );
    expect(await remove(caller, testPassword)).toEqual({ isGone: true });
    const guestId = await addGuest(services);
    await addImage(services, guestId);
    const guest: Caller = { userId: guestId, isGuest: true, isAdmin: false, via: "session" };
    expect(await remove(guest)).toEqual({ isGone: true });
    expect(await tablesWith([userId, guestId])).toEqual(["audit_entries"]);
  });

  test("an account without a password, as through a provider, is deleted from a session that has just begun", async () => {
    const { services } = fixture;
    const { userId, caller } = await openUser("provided");
    const { credentials, sessions } = schema;
    await services.db
      .update(credentials)
      .set({ providerId: "house", password: null })
      .where(eq(credentials.userId, userId));
    const setAge = (minutes: number) =>
      services.db
        .update(sessions)
        .set({ createdAt: new Date(Date.now() - minutes * 60_000) })
        .where(eq(sessions.userId, userId));
    const remove = () => deleteOwnAccount(services, { caller, password: undefined });
    await setAge(16);
    await expect(remove()).rejects.toMatchObject(refusal("forbidden"));
    await setAge(14);
    expect(await remove()).toEqual({ isGone: true });
    expect(await tablesWith([userId])).toEqual(["audit_entries"]);
  });

  test("ten wrong passwords in a minute are the limit", inAll, async () => {
    const { caller } = await openUser("guessed");
    const remove = (password: string) => deleteOwnAccount(fixture.services, { caller, password });
    for (let count = 0; count < 10; count += 1)
      await expect(remove("a wrong password")).rejects.toMatchObject(refusal("forbidden"));
    await expect(remove(testPassword)).rejects.toMatchObject(refusal("rate_limited"));
  });
});

test("S1 where admins need a second factor a reset also removes an admin's link to a provider that asks for one", async () => {
  const { services } = fixture;
  const asking = { name: "A", issuer: "https://id.example.org", clientId: "c", asksSecondFactor: true };
  const { signIn } = parseConfig({ signIn: { providers: { asking } } });
  const asked = { ...services, config: { ...services.config, signIn } };
  const { userId, browser } = await openUser("linked");
  const link = { id: newId(), userId, providerId: "asking", accountId: "linked" };
  await services.db.insert(schema.credentials).values(link);
  const reset = () => resetFactors(asked, act(userId));
  // Of somebody who needs none it is a way in and nothing else.
  await expect(reset()).rejects.toMatchObject({ code: "conflict" });
  await setRole(services, { ...act(userId), role: "admin" });
  await setAdminFactor(services, { isNeeded: true, adminId: null });
  const waysIn = async () => {
    const rows = await services.db
      .select()
      .from(schema.credentials)
      .where(eq(schema.credentials.userId, userId));
    return rows.map(({ providerId }) => providerId).toSorted();
  };
  try {
    const lost = { id: newId(), userId, publicKey: "k", credentialID: "lost", counter: 0 };
    await services.db.insert(schema.passkeys).values({ ...lost, deviceType: "multiDevice", backedUp: true });
    await reset();
    // With the link, which may be the way back in, whoever lost the passkey signs in.
    expect(await waysIn()).toEqual(["asking", "credential"]);
    await reset();
  } finally {
    await setAdminFactor(services, { isNeeded: false, adminId: null });
  }
  expect(await waysIn()).toEqual(["credential"]);
  expect(await resolveCaller(services, browser.headers)).toBeNull();
  await expect(reset()).rejects.toMatchObject({ code: "conflict" });
});

import {
  createTestServices,
  openAccount,
  openGuest,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq, or, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lockTopic, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { listPresets, savePreset } from "../presets/index.ts";
import { mergeGuest, resolveCaller } from "./index.ts";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

const { auditEntries, images, jobs, jobInputs, sessions, users } = schema;
const bytesPerUser = 1_000_000_000;

async function userOf(headers: Headers): Promise<string> {
  const caller = await resolveCaller(fixture.services, headers);
  if (!caller) throw new Error("no session");
  return caller.userId;
}

async function addImage(ownerId: string, facts: Partial<typeof images.$inferInsert> = {}): Promise<string> {
  const id = newId();
  await fixture.services.db.insert(images).values({
    id,
    ownerId,
    role: "upload",
    storageKey: `users/${ownerId}/${id}`,
    uploadSha256: id,
    storedSha256: id,
    mime: "image/png",
    widthPx: 10,
    heightPx: 10,
    sizeBytes: 100,
    thumbhash: "",
    ...facts,
  });
  return id;
}

async function addJob(ownerId: string, imageId: string): Promise<string> {
  const id = newId();
  await fixture.services.db.insert(jobs).values({
    id,
    ownerId,
    kind: "upscale",
    status: "pending",
    tier: 1,
    params: {},
    queue: "cpu-light",
    engine: "local",
    need: "local/upscale",
  });
  await fixture.services.db.insert(jobInputs).values({ jobId: id, role: "image", imageId });
  return id;
}

/** One row in every table that belongs to a user. */
async function fill(ownerId: string, jobId: string): Promise<void> {
  const { db } = fixture.services;
  await db.insert(schema.idempotencyKeys).values({ ownerId, key: "k", requestSha256: "r", jobId });
  await db.insert(schema.consents).values({ id: newId(), ownerId, storedSha256: "s", statement: "adult" });
  await db.insert(schema.queueTurns).values({ queue: "cpu-light", ownerId, servedAt: new Date() });
  const webhook = { ownerId, channel: "webhook", target: "https://hooks.example.test/" } as const;
  await db.insert(schema.deliveries).values({ id: newId(), jobId, event: "job.completed", ...webhook });
  await db.insert(schema.webhookEndpoints).values({ id: newId(), ownerId, url: webhook.target, secret: "s" });
  await db.insert(schema.notificationSettings).values({ ownerId, channel: "telegram", target: "1" });
  const conversationId = newId();
  await db.insert(schema.assistantConversations).values({ id: conversationId, ownerId });
  const said = { conversationId, ownerId, role: "user", text: "I like linen." } as const;
  await db.insert(schema.assistantMessages).values({ id: newId(), ...said });
  const announced = { role: "upload", name: "", mime: "image/png", sizeBytes: 1 } as const;
  await db.insert(schema.directUploads).values({ id: newId(), ownerId, ...announced });
}

async function ownersOf(imageIds: string[]): Promise<string[]> {
  const rows = await fixture.services.db.select().from(images);
  return imageIds.map((id) => rows.find((row) => row.id === id)?.ownerId ?? "lost");
}

test("a guest who makes an account keeps pictures, jobs and everything else", async () => {
  const guest = await openGuest(fixture.services);
  const guestId = await userOf(guest.headers);
  const kept = [
    await addImage(guestId),
    await addImage(guestId, { role: "result", uploadSha256: null }),
    await addImage(guestId, { role: "mask" }),
    await addImage(guestId, { deletedAt: new Date() }),
  ];
  const jobId = await addJob(guestId, kept[0] ?? "");
  await fill(guestId, jobId);
  const answer = await guest.auth("/sign-up/email", {
    email: "kept@example.com",
    password: testPassword,
    name: "Kept",
  });
  expect(answer.status).toBe(200);
  const accountId = await userOf(guest.headers);
  expect(accountId).not.toBe(guestId);
  expect(await ownersOf(kept)).toEqual(kept.map(() => accountId));
  const { db } = fixture.services;
  expect(await db.$count(jobs, eq(jobs.ownerId, accountId))).toBe(1);
  expect(await db.$count(schema.idempotencyKeys, eq(schema.idempotencyKeys.ownerId, accountId))).toBe(1);
  expect(await db.$count(schema.consents, eq(schema.consents.ownerId, accountId))).toBe(1);
  expect(await db.$count(schema.queueTurns, eq(schema.queueTurns.ownerId, accountId))).toBe(1);
  expect(await db.$count(schema.directUploads, eq(schema.directUploads.ownerId, accountId))).toBe(1);
  const others = [schema.deliveries, schema.webhookEndpoints, schema.notificationSettings];
  for (const table of [...others, schema.assistantConversations, schema.assistantMessages])
    expect(await db.$count(table, eq(table.ownerId, accountId))).toBe(1);
  expect(await db.$count(users, eq(users.id, guestId))).toBe(0);
});

test("a guest who signs in to an account with the same bytes loses no picture that a job refers to", async () => {
  const email = "both@example.com";
  const account = await openAccount(fixture.services, email);
  const accountId = await userOf(account.headers);
  const own = await addImage(accountId, { uploadSha256: "same" });
  const ownJob = await addJob(accountId, own);
  await fill(accountId, ownJob);
  const guest = await openGuest(fixture.services);
  const guestId = await userOf(guest.headers);
  const twin = await addImage(guestId, { uploadSha256: "same" });
  const twinMask = await addImage(guestId, { uploadSha256: "same", role: "mask" });
  const twinJob = await addJob(guestId, twin);
  await fill(guestId, twinJob);
  expect((await guest.auth("/sign-in/email", { email, password: testPassword })).status).toBe(200);
  expect(await userOf(guest.headers)).toBe(accountId);
  expect(await ownersOf([own, twin, twinMask])).toEqual([accountId, accountId, accountId]);
  const { db } = fixture.services;
  const [first] = await db.select().from(images).where(eq(images.id, own));
  const [second] = await db.select().from(images).where(eq(images.id, twin));
  expect([first?.uploadSha256, second?.uploadSha256]).toEqual(["same", null]);
  expect(await db.$count(jobInputs, eq(jobInputs.imageId, twin))).toBe(1);
  expect(await db.$count(jobs, eq(jobs.ownerId, accountId))).toBe(2);
});

test("a guest who wants no pictures described does not get it by signing in, whatever the account says", async () => {
  const { db } = fixture.services;
  const { assistantSettings } = schema;
  const wishes = [
    [false, undefined, [false]],
    [false, true, [false]],
    [true, false, [false]],
    [true, undefined, []],
  ] as const;
  for (const [at, [ofGuest, ofAccount, merged]] of wishes.entries()) {
    const guestId = await userOf((await openGuest(fixture.services)).headers);
    const accountId = await userOf((await openAccount(fixture.services, `wishes-${at}@example.com`)).headers);
    await db.insert(assistantSettings).values({ userId: guestId, describesPictures: ofGuest });
    if (ofAccount !== undefined)
      await db.insert(assistantSettings).values({ userId: accountId, describesPictures: ofAccount });
    await mergeGuest(db, { guestId, accountId, bytesPerUser });
    const rows = await db.select().from(assistantSettings).where(eq(assistantSettings.userId, accountId));
    expect(rows.map(({ describesPictures }) => describesPictures)).toEqual(merged);
  }
});

test("pictures that come in while a guest is merged are merged as well", async () => {
  const account = await openAccount(fixture.services, "racing@example.com");
  const guest = await openGuest(fixture.services);
  const [accountId, guestId] = [await userOf(account.headers), await userOf(guest.headers)];
  const stored: string[] = [];
  const warm = Promise.withResolvers<void>();
  // Each writes for the guest until the guest is gone.
  const write = async (): Promise<void> => {
    for (;;) {
      const id = await addImage(guestId).catch(() => null);
      if (!id) return;
      stored.push(id);
      if (stored.length === 8) warm.resolve();
    }
  };
  const writers = Array.from({ length: 4 }, write);
  await warm.promise;
  await mergeGuest(fixture.services.db, { guestId, accountId, bytesPerUser });
  await Promise.all(writers);
  expect(stored.length).toBeGreaterThanOrEqual(8);
  expect(await ownersOf(stored)).toEqual(stored.map(() => accountId));
  expect(await fixture.services.db.$count(users, eq(users.id, guestId))).toBe(0);
});

test("a guest who is being deleted takes nothing along into an account", async () => {
  const { db } = fixture.services;
  const account = await openAccount(fixture.services, "arriving@example.com");
  const guest = await openGuest(fixture.services);
  const [accountId, guestId] = [await userOf(account.headers), await userOf(guest.headers)];
  const imageId = await addImage(guestId);
  await db.update(users).set({ deletedAt: new Date() }).where(eq(users.id, guestId));
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  expect(await ownersOf([imageId])).toEqual([guestId]);
});

test("an account that is being deleted takes no guest along", async () => {
  const { db } = fixture.services;
  const account = await openAccount(fixture.services, "leaving@example.com");
  const guest = await openGuest(fixture.services);
  const [accountId, guestId] = [await userOf(account.headers), await userOf(guest.headers)];
  const imageId = await addImage(guestId);
  await db.update(users).set({ deletedAt: new Date() }).where(eq(users.id, accountId));
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  expect(await ownersOf([imageId])).toEqual([guestId]);
  expect(await db.$count(users, eq(users.id, guestId))).toBe(1);
});

test("boards and tags move, and a word that both have becomes one", async () => {
  const { db } = fixture.services;
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await userOf((await openAccount(fixture.services, "words@example.com")).headers);
  const { boards, imageTags, tags } = schema;
  const [imageId, boardId] = [await addImage(guestId), newId()];
  const [own, same, other] = [newId(), newId(), newId()];
  await db.insert(tags).values([
    { id: own, ownerId: accountId, name: "Sea", key: "sea" },
    { id: same, ownerId: guestId, name: "SEA", key: "sea" },
    { id: other, ownerId: guestId, name: "hill", key: "hill" },
  ]);
  await db.insert(imageTags).values([
    { tagId: same, imageId },
    { tagId: other, imageId },
  ]);
  await db.insert(boards).values({ id: boardId, ownerId: guestId, name: "B", key: "b" });
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  const names = await db
    .select({ name: tags.name })
    .from(imageTags)
    .innerJoin(tags, eq(tags.id, imageTags.tagId));
  expect(names.map(({ name }) => name).toSorted()).toEqual(["Sea", "hill"]);
  expect(await db.$count(tags, eq(tags.ownerId, accountId))).toBe(2);
  expect(await db.$count(boards, eq(boards.ownerId, accountId))).toBe(1);
  expect(await db.$count(images, eq(images.ownerId, accountId))).toBe(1);
});

test("a board of a name that the account has, too, becomes one with the pictures of both", async () => {
  const { db } = fixture.services;
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await userOf((await openAccount(fixture.services, "boards@example.com")).headers);
  const { boards, boardImages } = schema;
  const [own, same, removed, search] = [newId(), newId(), newId(), newId()];
  const [ofGuest, ofAccount] = [await addImage(guestId), await addImage(accountId)];
  await db.insert(boards).values([
    { id: own, ownerId: accountId, name: "Sea", key: "sea" },
    { id: same, ownerId: guestId, name: "SEA", key: "sea" },
    { id: removed, ownerId: guestId, name: "Sea", key: "sea", removedAt: new Date() },
    { id: search, ownerId: guestId, name: "Sea", key: "sea", search: "waves" },
  ]);
  await db.insert(boardImages).values([
    { boardId: own, imageId: ofAccount },
    { boardId: same, imageId: ofGuest },
  ]);
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  const left = await db.select({ id: boards.id }).from(boards).where(eq(boards.ownerId, accountId));
  expect(left.map(({ id }) => id).toSorted()).toEqual([own, removed, search].toSorted());
  const shown = await db
    .select({ id: boardImages.imageId })
    .from(boardImages)
    .where(eq(boardImages.boardId, own));
  expect(shown.map(({ id }) => id).toSorted()).toEqual([ofGuest, ofAccount].toSorted());
});

test.each(["a member", "a link"])("a board that %s can see takes no picture of a guest", async (reader) => {
  const { db } = fixture.services;
  const { boards, boardImages } = schema;
  const account = async (name: string) =>
    userOf((await openAccount(fixture.services, `${name.replaceAll(" ", "-")}@example.com`)).headers);
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await account(`${reader} seen`);
  const [own, ofGuest] = [newId(), newId()];
  const imageId = await addImage(guestId);
  await db.insert(boards).values([
    { id: own, ownerId: accountId, name: "Sea", key: "sea" },
    { id: ofGuest, ownerId: guestId, name: "Sea", key: "sea" },
  ]);
  await db.insert(boardImages).values({ boardId: ofGuest, imageId });
  if (reader === "a member")
    await db
      .insert(schema.boardMembers)
      .values({ boardId: own, userId: await account(reader), right: "see" });
  else
    await db
      .insert(schema.links)
      .values({ id: newId(), ownerId: accountId, tokenHash: newId(), boardId: own });
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  const shown = await db.select().from(boardImages).where(eq(boardImages.imageId, imageId));
  expect(shown).toMatchObject([{ boardId: ofGuest }]);
  expect(await db.$count(boards, eq(boards.ownerId, accountId))).toBe(2);
});

test("a name stands for one board after a merge, whichever apostrophe it has and whoever sees the account's", async () => {
  const { db } = fixture.services;
  const { boardMembers, boards, boardImages } = schema;
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await userOf((await openAccount(fixture.services, "one-name@example.com")).headers);
  const readerId = await userOf((await openAccount(fixture.services, "reader@example.com")).headers);
  const [shared, own, saved] = [newId(), newId(), newId()];
  const [secret, other, older, waves, twice] = [newId(), newId(), newId(), newId(), newId()];
  const imageId = await addImage(guestId);
  await db.insert(boards).values([
    { id: shared, ownerId: accountId, name: "Sea", key: "sea" },
    { id: own, ownerId: accountId, name: "Mum’s", key: "mum’s" },
    { id: saved, ownerId: accountId, name: "Days", key: "days", search: "is:upload" },
    { id: secret, ownerId: guestId, name: "SEA", key: "sea" },
    { id: other, ownerId: guestId, name: "Mum's", key: "mum's" },
    // Of a studio that took both spellings.
    { id: older, ownerId: guestId, name: "Mumʼs", key: "mumʼs" },
    { id: waves, ownerId: guestId, name: "Days", key: "days", search: "is:result" },
    { id: twice, ownerId: guestId, name: "days", key: "days", search: "is:upload" },
  ]);
  await db.insert(boardMembers).values({ boardId: shared, userId: readerId, right: "see" });
  await db.insert(boardImages).values([
    { boardId: secret, imageId },
    { boardId: other, imageId },
  ]);
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  const left = await db.select().from(boards).where(eq(boards.ownerId, accountId)).orderBy(boards.key);
  expect(left.map(({ id, name, key }) => [id, name, key])).toEqual([
    [saved, "Days", "days"],
    [waves, "Days 2", "days 2"],
    [own, "Mum’s", "mum’s"],
    [shared, "Sea", "sea"],
    [secret, "SEA 2", "sea 2"],
  ]);
  const shown = await db.select().from(boardImages).where(eq(boardImages.imageId, imageId));
  expect(shown.map(({ boardId }) => boardId).toSorted()).toEqual([own, secret].toSorted());
});

test("a merge waits for a board that is being named, and then counts it", async () => {
  const { db } = fixture.services;
  const { boards } = schema;
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await userOf((await openAccount(fixture.services, "naming@example.com")).headers);
  const [own, ofGuest] = [newId(), newId()];
  await db.insert(boards).values({ id: ofGuest, ownerId: guestId, name: "Sea", key: "sea", search: "a" });
  const merged = await db.transaction(async (tx) => {
    await lockTopic(tx, "boards", accountId);
    const merging = mergeGuest(db, { guestId, accountId, bytesPerUser });
    await expect
      .poll(async () =>
        db.execute(sql`select 1 from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`),
      )
      .toHaveLength(1);
    await tx.insert(boards).values({ id: own, ownerId: accountId, name: "Sea", key: "sea", search: "b" });
    return { merging };
  });
  await merged.merging;
  const left = await db.select().from(boards).where(eq(boards.ownerId, accountId)).orderBy(boards.key);
  expect(left.map(({ id, name }) => [id, name])).toEqual([
    [own, "Sea"],
    [ofGuest, "Sea 2"],
  ]);
});

test("a tag of a guest is the account's of the same name, whichever apostrophe either has", async () => {
  const { db } = fixture.services;
  const { imageTags, tags } = schema;
  const guestId = await userOf((await openGuest(fixture.services)).headers);
  const accountId = await userOf((await openAccount(fixture.services, "apostrophe@example.com")).headers);
  const [imageId, own, same, alike] = [await addImage(guestId), newId(), newId(), newId()];
  await db.insert(tags).values([
    { id: own, ownerId: accountId, name: "Mum’s", key: "mum’s" },
    { id: same, ownerId: guestId, name: "mum's", key: "mum's" },
    { id: alike, ownerId: guestId, name: "mumʼs", key: "mumʼs" },
  ]);
  await db.insert(imageTags).values([
    { tagId: same, imageId },
    { tagId: alike, imageId },
  ]);
  await mergeGuest(db, { guestId, accountId, bytesPerUser });
  expect(await db.select({ id: tags.id }).from(tags).where(eq(tags.ownerId, accountId))).toEqual([
    { id: own },
  ]);
  expect(await db.select().from(imageTags).where(eq(imageTags.imageId, imageId))).toMatchObject([
    { tagId: own },
  ]);
});

test("of words and settings under one name both stay, the guest's with a number, and what says the same is there once", async () => {
  const { db } = fixture.services;
  const account = await openAccount(fixture.services, "kept-words@example.com");
  const guest = await openGuest(fixture.services);
  const [accountId, guestId] = [await userOf(account.headers), await userOf(guest.headers)];
  const long = "ü".repeat(57);
  const save = (userId: string, name: string, lines: readonly string[]) =>
    savePreset(fixture.services, {
      reader: { userId },
      type: "list",
      isStudio: false,
      name,
      content: { lines: [...lines] },
    });
  for (const [name, line] of [
    ["Hats", "bowler"],
    ["same", "one"],
    [`${long} a`, "one"],
  ] as const)
    await save(accountId, name, [line]);
  for (const [name, line] of [
    ["hats", "beret"],
    ["Hats 2", "cap"],
    ["Same", "one"],
    ["own", "one"],
    [`${long} a`, "two"],
  ] as const)
    await save(guestId, name, [line]);
  await mergeGuest(db, { guestId, accountId, bytesPerUser: 1_000_000_000 });
  const all = await listPresets(fixture.services, { userId: accountId });
  const kept = all.flatMap((one) =>
    one.from === "own" && one.type === "list" ? [`${one.name}: ${one.content.lines.join()}`] : [],
  );
  expect(kept.toSorted()).toEqual(
    [
      "Hats: bowler",
      "Hats 2: cap",
      "hats 3: beret",
      "own: one",
      "same: one",
      `${long} a: one`,
      `${long} 2: two`,
    ].toSorted(),
  );
});

test("every table that belongs to a user is either moved or dies with the session", async () => {
  const rows = await fixture.services.db.execute<{ table: string }>(sql`
    select distinct conrelid::regclass::text as "table" from pg_constraint
    where contype = 'f' and confrelid = 'users'::regclass order by 1`);
  expect(rows.map(({ table }) => table)).toEqual([
    "api_keys",
    "assistant_conversations",
    "assistant_messages",
    "assistant_runs",
    // The account's own counts, but a guest's wish that no pictures are described stays.
    "assistant_settings",
    "batches",
    // Boards are shared with accounts alone.
    "board_members",
    "boards",
    // Made with an API key alone, which a guest does not have.
    "client_files",
    "client_users",
    "consents",
    "credentials",
    "daily_spend",
    "deliveries",
    "direct_uploads",
    "duplicate_pairs",
    "edits",
    "idempotency_keys",
    "images",
    // Made by admins alone, and a guest is never one.
    "invitations",
    "jobs",
    // Of API keys, which a guest does not have.
    "key_caps",
    "likenesses",
    "links",
    "memories",
    "model_calls",
    // Counted from the account's pictures.
    "month_counts",
    "notification_settings",
    // A guest signs in with nothing, so has no passkey.
    "passkeys",
    // A guest has no password.
    "password_resets",
    "presets",
    // Written by admins alone, and a guest is never one.
    "prompts",
    "proposals",
    // A guest spends nothing.
    "provider_attempts",
    "queue_turns",
    // Made again from the account's rows.
    "recall_vectors",
    // Written by admins alone, and a guest is never one.
    "server_drains",
    "sessions",
    // A guest spends nothing.
    "spending_caps",
    // Counted from the account's pictures.
    "stack_changes",
    "stack_months",
    "tags",
    // A guest links no chat.
    "telegram_codes",
    "telegram_links",
    "telegram_requests",
    // A guest has no password, so no second factor.
    "two_factors",
    "wardrobe_items",
    "webhook_endpoints",
  ]);
});

test("S2 guests who sign in at once are no way past the quota of an account: who does not fit stays a guest", async () => {
  const { db } = fixture.services;
  const account = await openAccount(fixture.services, "crowded@example.com");
  const accountId = await userOf(account.headers);
  await db.update(users).set({ quotaBytes: 250 }).where(eq(users.id, accountId));
  const guests = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const guest = await openGuest(fixture.services);
      const guestId = await userOf(guest.headers);
      return { guest, guestId, imageId: await addImage(guestId) };
    }),
  );
  const before = await db.$count(sessions, eq(sessions.userId, accountId));
  const answers = await db.transaction(async (tx) => {
    // All are past the first look when the first of them is merged.
    await lockTopic(tx, "boards", accountId);
    const signingIn = guests.map(({ guest }) =>
      guest.auth("/sign-in/email", { email: "crowded@example.com", password: testPassword }),
    );
    await expect
      .poll(async () =>
        db.execute(sql`select 1 from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`),
      )
      .toHaveLength(guests.length);
    return { signingIn };
  });
  const answered = await Promise.all(answers.signingIn);
  const statuses = answered.map(({ status }) => String(status));
  expect(statuses.toSorted()).toEqual(["200", "200", "400", "400", "400", "400"]);
  for (const [at, { guest, guestId, imageId }] of guests.entries()) {
    const isIn = answered[at]?.status === 200;
    expect(await ownersOf([imageId])).toEqual([isIn ? accountId : guestId]);
    if (isIn) continue;
    expect(answered[at]?.headers.get("set-cookie") ?? "").not.toContain("session_token=");
    expect(await userOf(guest.headers)).toBe(guestId);
  }
  expect(await db.$count(sessions, eq(sessions.userId, accountId))).toBe(before + 2);
  const told = async (kind: "sign_in.done" | "sign_in.failed") =>
    db.$count(
      auditEntries,
      and(
        eq(auditEntries.kind, kind),
        or(eq(auditEntries.actorId, accountId), eq(auditEntries.personId, accountId)),
      ),
    );
  expect([await told("sign_in.done"), await told("sign_in.failed")]).toEqual([2, 4]);
});

test("S2 guests are no way past the quota of an account: the sign-in fails in a sentence, the guest keeps all", async () => {
  const { db } = fixture.services;
  const account = await openAccount(fixture.services, "full@example.com");
  const accountId = await userOf(account.headers);
  await db.update(users).set({ quotaBytes: 250 }).where(eq(users.id, accountId));
  const own = [await addImage(accountId), await addImage(accountId)];
  const guest = await openGuest(fixture.services);
  const guestId = await userOf(guest.headers);
  const imageId = await addImage(guestId);
  const signIn = { email: "full@example.com", password: testPassword };
  const answer = await guest.auth("/sign-in/email", signIn);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringContaining("do not fit into this account") }),
  ]);
  expect(await userOf(guest.headers)).toBe(guestId);
  expect(await ownersOf([imageId, ...own])).toEqual([guestId, accountId, accountId]);
  const lay = async (id: string, deletedAt: Date) =>
    db.update(images).set({ deletedAt }).where(eq(images.id, id));
  // What is restorable counts, and a guest's is restorable for longer in the account.
  for (const id of own) await lay(id, new Date());
  expect((await guest.auth("/sign-in/email", signIn)).status).toBe(400);
  await lay(imageId, new Date(Date.now() - 86_400_000));
  expect((await guest.auth("/sign-in/email", signIn)).status).toBe(400);
  await lay(own[0] ?? "", new Date(0));
  expect((await guest.auth("/sign-in/email", signIn)).status).toBe(200);
  expect(await ownersOf([imageId])).toEqual([accountId]);
});

import {
  createTestServices,
  openAccount,
  openAdmin,
  openOwner,
  openTestBrowser,
  testOrigin,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiKey, createUser, findAccount, resetPassword, resolveCaller } from "../accounts/index.ts";
import { createHttpApp, handleAuth, handleTrpc } from "../api/index.ts";
import { addMemory, deleteMemory } from "../assistant/memories.ts";
import { createBoard, removeBoard, restoreBoard } from "../boards/index.ts";
import { schema } from "../db/index.ts";
import { asOperator, newId, underRequestId } from "../platform/index.ts";
import { type AuditEntry, pruneAudit, recordAct } from "./index.ts";

const { auditEntries, users } = schema;
const address = "203.0.113.7";

let fixture: TestServices;
let admin: TestBrowser;
let adminId: string;

const idOf = async (headers: Headers) => (await resolveCaller(fixture.services, headers))?.userId ?? "";

beforeAll(async () => {
  fixture = await createTestServices();
  admin = await openAdmin(fixture.services, "admin@example.com");
  adminId = await idOf(admin.headers);
});
afterAll(() => fixture.close());

function ask({ headers }: TestBrowser, path: string, input: unknown): Promise<Response> {
  const sent = {
    ...Object.fromEntries(headers),
    "content-type": "application/json",
    "x-forwarded-for": address,
  };
  const body = JSON.stringify(superjson.serialize(input));
  const request = new Request(`${testOrigin}/api/trpc/${path}`, { method: "POST", headers: sent, body });
  return handleTrpc(fixture.services, request);
}

const read = (path: string, key: string) =>
  createHttpApp(fixture.services).fetch(
    new Request(`${testOrigin}/api/v1/audit${path}`, { headers: { authorization: `Bearer ${key}` } }),
  );

async function find(query: Record<string, string>, key: string): Promise<AuditEntry[]> {
  const response = await read(`?${new URLSearchParams(query).toString()}`, key);
  expect(response.status).toBe(200);
  return ((await response.json()) as { items: AuditEntry[] }).items;
}

const keyOf = async (userId: string, rights: Parameters<typeof createApiKey>[1]["rights"] = null) =>
  (await createApiKey(fixture.services, { userId, name: "a key", rights })).key;

test("S10 the database refuses to change and remove entries, but for old ones in the sweep", async () => {
  const { services } = fixture;
  const { db } = services;
  const id = newId();
  await recordAct(db, { kind: "user.suspended", by: adminId, object: id });
  const own = eq(auditEntries.objectId, id);
  const refusal = { cause: { constraint_name: "audit_entries_append_only" } };
  await expect(db.update(auditEntries).set({ kind: "user.unsuspended" }).where(own)).rejects.toMatchObject(
    refusal,
  );
  await expect(db.delete(auditEntries).where(own)).rejects.toMatchObject(refusal);
  await expect(db.execute(sql`truncate audit_entries`)).rejects.toMatchObject(refusal);
  // Whatever time the sweep names, an entry of the last 30 days stays.
  const greedy = db.transaction(async (tx) => {
    await tx.execute(sql`select set_config('atelier.audit_before', (now() + interval '1 year')::text, true)`);
    await tx.delete(auditEntries).where(own);
  });
  await expect(greedy).rejects.toMatchObject(refusal);
  const [old, older] = [newId(), newId()];
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const base = { kind: "key.made", actor: "user", actorId: adminId } as const;
  await db.insert(auditEntries).values([
    { ...base, id: old, at: daysAgo(60) },
    { ...base, id: older, at: daysAgo(100) },
  ]);
  const config = {
    ...services.config,
    retention: { ...services.config.retention, auditMs: 90 * 86_400_000 },
  };
  expect(await pruneAudit({ db, config })).toBe(1);
  const left = await db
    .select({ id: auditEntries.id })
    .from(auditEntries)
    .where(sql`id in (${old}, ${older})`);
  expect(left).toEqual([{ id: old }]);
  expect(await db.$count(auditEntries, own)).toBe(1);
});

test("S10 what an admin does to a user is an entry with who, whom and from where; a refusal is one, too", async () => {
  const stranger = await openAccount(fixture.services, "whom@example.com");
  const id = await idOf(stranger.headers);
  await ask(admin, "admin.users.setQuota", { id, quotaBytes: 1_000 });
  await ask(admin, "admin.users.setRole", { id, role: "admin" });
  await ask(admin, "admin.users.suspend", { id: adminId });
  await ask(admin, "admin.cloud.setCaps", { id, dailyUsd: 1, monthlyUsd: null });
  await ask(admin, "admin.users.remove", { id, confirm: "whom@example.com" });
  const unnamed = { id: adminId, confirm: "whom@example.com", reason: "not kept" };
  await ask(admin, "admin.users.suspend", unnamed);
  const key = await keyOf(adminId);
  const about = await find({ person: id }, key);
  expect(about.map(({ kind }) => kind)).toEqual([
    "user.deleted",
    "user.spending_set",
    "user.role_set",
    "user.quota_set",
    "account.made",
  ]);
  expect(about[2]).toMatchObject({
    actor: "user",
    by: { id: adminId, email: "admin@example.com" },
    person: { id, name: null, email: null },
    address,
    outcome: "ok",
    details: { before: "user", role: "admin" },
  });
  const [refused] = await find({ kind: "admin.users.suspend" }, key);
  expect(refused).toMatchObject({ objectId: adminId, address, details: {} });
  // Nothing that names the deleted user is left.
  const all = await (await read("/export?format=jsonl", key)).text();
  expect(all).toContain(id);
  expect(all).not.toContain("whom@example.com");
});

test("S10 sign-ins that fail and succeed are entries; an unknown address is not kept", async () => {
  const { services } = fixture;
  const email = "signs-in@example.com";
  const { headers } = await openAccount(services, email);
  const id = await idOf(headers);
  const signIn = (body: Record<string, string>) =>
    handleAuth(
      services,
      new Request(`${testOrigin}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: testOrigin, "x-forwarded-for": address },
        body: JSON.stringify(body),
      }),
    );
  expect((await signIn({ email, password: "not the password" })).status).toBe(401);
  expect((await signIn({ email, password: testPassword })).status).toBe(200);
  expect((await signIn({ email: "unknown@example.com", password: testPassword })).status).toBe(401);
  const key = await keyOf(adminId);
  const [done, failed] = await find({ person: id, kind: "sign_in" }, key);
  expect(done).toMatchObject({ kind: "sign_in.done", actor: "user", by: { id }, address });
  expect(failed).toMatchObject({
    kind: "sign_in.failed",
    actor: "nobody",
    by: null,
    person: { id },
    address,
    outcome: "invalid_email_or_password",
  });
  const [unknown] = await find({ kind: "sign_in.failed" }, key);
  expect(unknown).toMatchObject({ actor: "nobody", person: null });
  expect(JSON.stringify(unknown)).not.toContain("unknown@");
  // What cannot be stored, what has no password, and more of unknown addresses than a network may add.
  const count = () => services.db.$count(auditEntries, eq(auditEntries.kind, "sign_in.failed"));
  const before = await count();
  expect((await signIn({ email: "a\0b@example.com", password: testPassword })).status).toBeLessThan(500);
  expect((await signIn({ email })).status).toBe(400);
  await services.db.execute(
    sql`update rate_limits set count = 60 where key = ${`sign-in-unknown|${address}`}`,
  );
  expect((await signIn({ email: "nobody@example.com", password: testPassword })).status).toBe(401);
  expect(await count()).toBe(before);
  await services.db.execute(
    sql`alter table audit_entries add constraint no_entries check (kind not like 'sign_in.%') not valid`,
  );
  const stored = await signIn({ email, password: testPassword });
  await services.db.execute(sql`alter table audit_entries drop constraint no_entries`);
  expect(stored.status).toBe(200);
});

test("S10 what a key does names the key; an act that is rolled back leaves no entry", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "keyed@example.com");
  const adminKey = await keyOf(adminId);
  const made = await createHttpApp(services).fetch(
    new Request(`${testOrigin}/api/v1/links`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ imageIds: [owner.imageId] }),
    }),
  );
  const { id } = (await made.json()) as { id: string };
  const [entry] = await find({ kind: "link" }, adminKey);
  const [kept] = await services.db
    .select({ id: schema.apiKeys.id })
    .from(schema.apiKeys)
    .where(eq(schema.apiKeys.referenceId, owner.caller.userId));
  expect(entry).toMatchObject({ kind: "link.made", actor: "key", keyId: kept?.id, objectId: id });
  await services.db.execute(
    sql`alter table audit_entries add constraint no_links check (kind not like 'link.%') not valid`,
  );
  const revoked = await ask(owner.browser, "links.revoke", { id });
  await services.db.execute(sql`alter table audit_entries drop constraint no_links`);
  expect(revoked.status).toBe(500);
  expect(await services.db.$count(schema.links, sql`id = ${id} and revoked_at is null`)).toBe(1);
});

test("S10 keys, links, boards, consents, proposals, pictures, exports and the end of an account are entries", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "acts@example.com");
  const other = await openAccount(services, "other@example.com");
  const [id, otherId] = [owner.caller.userId, await idOf(other.headers)];
  const told = async (path: string, input: unknown, browser = owner.browser) => {
    const response = await ask(browser, path, input);
    expect([path, response.status]).toEqual([path, 200]);
    return superjson.deserialize<{ readonly id: string; readonly token: string }>(
      (await response.json()).result.data,
    );
  };
  const imageId = owner.imageId;
  await told("apiKeys.setCap", { id: owner.apiKeyId, cap: { usd: 5, period: "month" } });
  const link = await told("links.create", { imageIds: [imageId] });
  await told("links.change", { id: link.id, title: "Autumn" });
  await told("links.revoke", { id: link.id });
  await told("links.restore", { id: link.id });
  const board = await told("boards.create", { name: "Autumn" });
  await told("boards.share", { id: board.id, email: "other@example.com" });
  await told("boards.unshare", { id: board.id, userId: otherId });
  await told("wardrobe.stateConsent", { imageId });
  await told("wardrobe.withdrawConsent", { imageId });
  const [proposal] = await services.db
    .select()
    .from(schema.proposals)
    .where(eq(schema.proposals.id, owner.proposalId));
  if (!proposal) throw new Error("no proposal");
  const second = { ...proposal, id: newId(), requestSha256: "another", toolCallId: "another" };
  await services.db.insert(schema.proposals).values(second);
  await told("assistant.decline", { id: proposal.id });
  await told("assistant.approve", { id: second.id });
  await told("assistant.deleteConversation", { id: owner.conversationId });
  await told("images.remove", { ids: [imageId] });
  await told("images.deleteForGood", { ids: [imageId] });
  const exported = await createHttpApp(services).fetch(
    new Request(`${testOrigin}/api/v1/account/export`, { headers: owner.browser.headers }),
  );
  expect([exported.status, (await exported.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  const { token } = await told("admin.users.createResetLink", { id }, admin);
  await told("account.resetPassword", { token, password: "another long password" });
  const signedIn = await handleAuth(
    services,
    new Request(`${testOrigin}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: testOrigin, "x-forwarded-for": address },
      body: JSON.stringify({ email: "acts@example.com", password: "another long password" }),
    }),
  );
  const again = openTestBrowser(services);
  again.keepCookies(signedIn);
  await told("account.remove", { confirm: "delete", password: "another long password" }, again);
  const about = await find({ person: id }, await keyOf(adminId));
  expect(about.map(({ kind }) => kind).toReversed()).toEqual([
    "account.made",
    "key.made",
    "key.capped",
    "link.made",
    "link.changed",
    "link.revoked",
    "link.restored",
    "board.shared",
    "board.unshared",
    "consent.stated",
    "consent.withdrawn",
    "assistant.declined",
    "assistant.approved",
    "assistant.conversation_deleted",
    "pictures.deleted",
    "account.exported",
    "user.password_link_made",
    "user.password_link_used",
    "sign_in.done",
    "account.deleted",
  ]);
  // Ids and figures, and nothing that people wrote.
  expect(JSON.stringify(about)).not.toMatch(/Autumn|acts@|another long/);
});

test("S10 an invitation that an admin makes and takes back are entries", async () => {
  await ask(admin, "admin.invitations.create", { days: 7 });
  const key = await keyOf(adminId);
  const [made] = await find({ kind: "invitation.made" }, key);
  await ask(admin, "admin.invitations.revoke", { id: made?.objectId });
  const [revoked] = await find({ kind: "invitation" }, key);
  for (const entry of [made, revoked]) expect(entry).toMatchObject({ by: { id: adminId }, address });
  expect(revoked).toMatchObject({ kind: "invitation.revoked", objectId: made?.objectId });
});

test("the log is searched by person, kind, address and time, by pages, and exported as CSV and JSON lines", async () => {
  const { services } = fixture;
  const { db } = services;
  const id = await idOf((await openAccount(services, "formula@example.com")).headers);
  await db
    .update(users)
    .set({ name: "Searched Person", email: "=formula@example.com" })
    .where(eq(users.id, id));
  for (let at = 0; at < 5; at += 1)
    await recordAct(db, { kind: "key.made", by: id, details: { at, text: 'a "b"' } });
  const key = await keyOf(adminId, ["admin"]);
  expect(await find({ person: "searched pers", kind: "key" }, key)).toHaveLength(5);
  const first = (await (await read("?person=Searched&kind=key.made&limit=2", key)).json()) as {
    items: AuditEntry[];
    nextCursor: string;
  };
  const next = await find({ person: "Searched", kind: "key.made", cursor: first.nextCursor }, key);
  expect([...first.items, ...next].map(({ details }) => details["at"])).toEqual([4, 3, 2, 1, 0]);
  const from = first.items[1]?.at ?? "";
  const since = await find({ person: id, from, kind: "key" }, key);
  const until = await find({ person: id, to: from, kind: "key" }, key);
  // Entries of one millisecond stay together.
  expect(since.length).toBeGreaterThanOrEqual(2);
  expect([...since, ...until].map(({ details }) => details["at"])).toEqual([4, 3, 2, 1, 0]);
  expect(await find({ address: "192.0.2.1" }, key)).toEqual([]);
  for (const time of ["yesterday", "0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z"])
    expect((await read(`?from=${time}`, key)).status).toBe(400);
  expect(await find({ person: id, from: "2026-01-01T00:00:00+23:59", kind: "key" }, key)).toHaveLength(5);
  const csv = await (await read(`/export?person=${id}&kind=key`, key)).text();
  const lines = csv.trimEnd().split("\r\n");
  expect(lines).toHaveLength(6);
  expect(lines[1]).toContain(`"'=formula@example.com"`);
  expect(lines[1]).toContain(String.raw`"{""at"":4,""text"":""a \""b\""""}"`);
  const json = await (await read(`/export?person=${id}&kind=key&format=jsonl`, key)).text();
  expect(
    json
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as AuditEntry).details["at"]),
  ).toEqual([4, 3, 2, 1, 0]);
  const [exported] = await find({ kind: "admin.audit.export" }, key);
  expect(exported).toMatchObject({
    actor: "key",
    by: { id: adminId },
    details: { format: "jsonl", person: "chosen" },
  });
  for (const rights of [["read"], ["create", "read", "metrics"]] as const)
    expect((await read("", await keyOf(adminId, rights))).status).toBe(403);
  expect((await read("", await keyOf(id))).status).toBe(403);
});

test("S10 an export breaks off for one who is no admin any more; asking for its headers is no export", async () => {
  const { services } = fixture;
  const { db } = services;
  const id = await idOf((await openAdmin(services, "leaves@example.com")).headers);
  const key = await keyOf(id);
  await db.execute(sql`insert into audit_entries (id, kind, actor, actor_id)
    select gen_random_uuid(), 'admin.many.rows', 'user', ${id} from generate_series(1, 3000)`);
  const exports = () => db.$count(auditEntries, eq(auditEntries.kind, "admin.audit.export"));
  const before = await exports();
  const head = await createHttpApp(services).fetch(
    new Request(`${testOrigin}/api/v1/audit/export`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${key}` },
    }),
  );
  expect([head.status, await exports()]).toEqual([200, before]);
  const response = await read("/export?kind=admin.many", key);
  const reader = response.body?.getReader();
  await reader?.read();
  await db.update(users).set({ role: "user" }).where(eq(users.id, id));
  const rest = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(rest()).rejects.toThrow("may not read on");
});

test("S10 what an operator does to an account is no act of its user; an id of a client is kept as a UUID alone", async () => {
  const { services } = fixture;
  const id = await idOf((await openAccount(services, "operated@example.com")).headers);
  await asOperator(() => keyOf(id));
  await resetPassword(services, { email: "operated@example.com", password: testPassword });
  await createUser(services, { email: "made@example.com", password: testPassword, isAdmin: true });
  const made = await findAccount(services, { email: "made@example.com" });
  const operated = await find({ person: id }, await keyOf(adminId));
  expect(operated.slice(0, 2)).toMatchObject([
    { kind: "account.password_changed", actor: "operator", by: null, person: { id } },
    { kind: "key.made", actor: "operator", by: null, person: { id } },
  ]);
  expect(await find({ person: made.id }, await keyOf(adminId))).toMatchObject([
    { kind: "account.made", actor: "operator", details: { isAdmin: true } },
  ]);
  const object = newId();
  for (const sent of ["someone@example.com", object])
    await underRequestId({ id: sent }, () => recordAct(services.db, { kind: "key.made", by: id, object }));
  const kept = await services.db
    .select({ requestId: auditEntries.requestId })
    .from(auditEntries)
    .where(eq(auditEntries.objectId, object))
    .orderBy(auditEntries.id);
  expect(kept).toEqual([{ requestId: null }, { requestId: object }]);
});

test("S10 a memory that is deleted and a shared board that is removed and restored are entries", async () => {
  const { services } = fixture;
  const ownerId = await idOf((await openAccount(services, "forgets@example.com")).headers);
  const memory = await addMemory(services, { ownerId, text: "likes blue" });
  await deleteMemory(services, { ownerId, id: memory.id });
  const [alone, shared] = [
    await createBoard(services, { ownerId, name: "Alone" }),
    await createBoard(services, { ownerId, name: "Shared" }),
  ];
  await services.db.insert(schema.boardMembers).values({ boardId: shared.id, userId: adminId, right: "see" });
  for (const { id } of [alone, shared]) {
    await removeBoard(services, { ownerId, id });
    await restoreBoard(services, { ownerId, id });
  }
  const entries = await find({ person: ownerId }, await keyOf(adminId));
  expect(entries.map(({ kind, objectId }) => [kind, objectId]).slice(0, 3)).toEqual([
    ["board.restored", shared.id],
    ["board.removed", shared.id],
    ["assistant.memory_deleted", memory.id],
  ]);
});

import { buffer } from "node:stream/consumers";
import {
  captureLog,
  createTestServices,
  openAdmin,
  openGuest,
  openOwner,
  openTestBrowser,
  testOrigin,
  testPassword,
  type TestBrowser,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { readZip } from "@atelier/testing/zip";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveCaller } from "../accounts/index.ts";
import type { UserFigures, UserPage } from "../monitoring/users.ts";
import { createHttpApp, handleTrpc } from "./index.ts";

const { log, lines } = captureLog();
let fixture: TestServices;
let admin: TestBrowser;

beforeAll(async () => {
  fixture = await createTestServices({ log });
  admin = await openAdmin(fixture.services, "admin@example.com");
});
afterAll(() => fixture.close());

interface Answer {
  readonly status: number;
  readonly data: unknown;
  readonly code: unknown;
}

async function ask(browser: TestBrowser, path: string, input: unknown, isRead = false): Promise<Answer> {
  const wire = JSON.stringify(superjson.serialize(input));
  const url = `${testOrigin}/api/trpc/${path}${isRead ? `?input=${encodeURIComponent(wire)}` : ""}`;
  const response = await handleTrpc(
    fixture.services,
    new Request(url, {
      method: isRead ? "GET" : "POST",
      headers: { ...Object.fromEntries(browser.headers), "content-type": "application/json" },
      ...(isRead ? {} : { body: wire }),
    }),
  );
  const body = (await response.json()) as {
    result?: { data: { json: unknown } };
    error?: { json: { data: { appCode: string } } };
  };
  return { status: response.status, data: body.result?.data.json, code: body.error?.json.data.appCode };
}

const http = (owner: TestOwner, path: string) =>
  createHttpApp(fixture.services).fetch(
    new Request(`${testOrigin}/api/v1${path}`, { headers: { authorization: `Bearer ${owner.apiKey}` } }),
  );

/** Opens the studio's own live stream of a user, and reads until its first event came. */
async function openLive(browser: TestBrowser) {
  const response = await handleTrpc(
    fixture.services,
    new Request(`${testOrigin}/api/trpc/jobs.watch`, { headers: browser.headers }),
  );
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("snapshot")) text += decoder.decode((await reader.read()).value, { stream: true });
  return reader;
}

async function untilEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  while (!(await reader.read()).done);
}

test("S1 live streams of a suspended user end within seconds, and those of others go on", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "streams@example.com");
  const other = await openOwner(services, "others@example.com");
  const live = await openLive(owner.browser);
  const othersLive = await openLive(other.browser);
  const events = await http(owner, `/jobs/${owner.jobId}/events`);
  expect(events.status).toBe(200);
  const reader = (events.body ?? new ReadableStream<Uint8Array>()).getReader();
  const othersEnd = untilEnd(othersLive).then(() => "ended");
  const startedMs = performance.now();
  const { userId } = owner.caller;
  expect(await ask(admin, "admin.users.suspend", { id: userId })).toMatchObject({
    status: 200,
    data: { cancelledJobs: 1 },
  });
  await Promise.all([untilEnd(live), untilEnd(reader)]);
  // Without the look of the feed the streams end at the next check of the caller, after half a minute.
  expect(performance.now() - startedMs).toBeLessThan(25_000);
  expect((await http(owner, "/jobs")).status).toBe(401);
  expect(await Promise.race([othersEnd, Promise.resolve("goes on")])).toBe("goes on");
  await othersLive.cancel();
});

test("D9 an admin lists, finds and reads users with space, quota, state and the last sign of life", async () => {
  const owner = await openOwner(fixture.services, "figures@example.com");
  const { userId: id } = owner.caller;
  await ask(admin, "admin.users.setQuota", { id, quotaBytes: 5_000_000 });
  const list = async (input: object) =>
    ((await ask(admin, "admin.users.list", input, true)).data as UserPage).items;
  const [found] = await list({ search: "FIGURES@" });
  expect(found).toMatchObject({
    id,
    role: "user",
    state: "active",
    quotaBytes: 5_000_000,
    limitBytes: 5_000_000,
    openJobs: 1,
    images: 1,
  });
  expect(found?.usedBytes).toBeGreaterThan(1_000);
  expect((await ask(admin, "admin.users.get", { id }, true)).data).toMatchObject({
    id,
    email: "figures@example.com",
  });
  expect(await list({ search: "figures", state: "suspended" })).toEqual([]);
  await ask(admin, "admin.users.suspend", { id });
  const [suspended] = await list({ search: "figures", state: "suspended" });
  expect(suspended).toMatchObject({ id, state: "suspended" });
  // The sessions are gone, and the figure stays.
  expect(suspended?.seenMs).toBeGreaterThanOrEqual(0);
  const page = (await ask(admin, "admin.users.list", { limit: 1 }, true)).data as UserPage;
  const next = (await ask(admin, "admin.users.list", { limit: 1, cursor: page.nextCursor ?? "" }, true))
    .data as UserPage;
  expect(next.items[0]?.id).not.toBe(page.items[0]?.id);
});

test("S1 each act of an admin leaves a line with who, what and whom, and no secret", async () => {
  const owner = await openOwner(fixture.services, "audited@example.com");
  const { userId: id } = owner.caller;
  const adminId = (await resolveCaller(fixture.services, admin.headers))?.userId;
  const { data } = await ask(admin, "admin.users.createResetLink", { id });
  const { token } = data as { token: string };
  await ask(admin, "admin.users.setRole", { id, role: "admin" });
  await ask(admin, "admin.users.remove", { id, confirm: "wrong" });
  await ask(admin, "admin.users.remove", { id, confirm: "audited@example.com" });
  const audited = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ audit, input }) => audit === true && (input as { id?: string } | undefined)?.id === id)
    .map(({ adminId: by, action, code }) => [by, action, code]);
  expect(audited).toEqual([
    [adminId, "admin.users.createResetLink", "ok"],
    [adminId, "admin.users.setRole", "ok"],
    [adminId, "admin.users.remove", "bad_request"],
    [adminId, "admin.users.remove", "ok"],
  ]);
  expect(lines.join("\n")).not.toContain(token);
});

test("a link of an admin sets a password without a session, once", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "reset@example.com");
  const { data } = await ask(admin, "admin.users.createResetLink", { id: owner.caller.userId });
  const { token } = data as { token: string };
  const nobody = openTestBrowser(services);
  const set = (password: string) => ask(nobody, "account.resetPassword", { token, password });
  expect(await set("short")).toMatchObject({ status: 400 });
  expect(await set("another password")).toMatchObject({ status: 200 });
  expect(await set("a third password")).toMatchObject({ status: 404, code: "not_found" });
  expect(await resolveCaller(services, owner.browser.headers)).toBeNull();
  const email = "reset@example.com";
  expect((await nobody.auth("/sign-in/email", { email, password: "another password" })).status).toBe(200);
});

test("an account and a guest delete themselves with everything; the only admin does not", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "leaving@example.com");
  const remove = (browser: TestBrowser, input: object) => ask(browser, "account.remove", input);
  const confirm = "delete";
  expect(await remove(owner.browser, { confirm: "yes", password: testPassword })).toMatchObject({
    status: 400,
  });
  expect(await remove(owner.browser, { confirm, password: "wrong password" })).toMatchObject({ status: 403 });
  expect(await remove(owner.browser, { confirm, password: testPassword })).toMatchObject({
    status: 200,
    data: { isGone: true },
  });
  expect(await resolveCaller(services, owner.browser.headers)).toBeNull();
  const guest = await openGuest(services);
  expect(await remove(guest, { confirm })).toMatchObject({ status: 200 });
  expect(await resolveCaller(services, guest.headers)).toBeNull();
  expect(await remove(admin, { confirm, password: testPassword })).toMatchObject({ status: 409 });
});

test("GET /account/export streams a zip as an attachment; HEAD leaves the place free", async () => {
  const owner = await openOwner(fixture.services, "export@example.com");
  const head = await createHttpApp(fixture.services).fetch(
    new Request(`${testOrigin}/api/v1/account/export`, { method: "HEAD", headers: owner.browser.headers }),
  );
  expect(head.status).toBe(200);
  let response = await http(owner, "/account/export");
  await expect
    .poll(async () => {
      if (response.status === 429) response = await http(owner, "/account/export");
      return response.status;
    })
    .toBe(200);
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="atelier-\d{4}-\d{2}-\d{2}\.zip"$/,
  );
  const files = readZip(await buffer(response.body ?? new ReadableStream<Uint8Array>()));
  expect([...files.keys()]).toEqual([
    "account.json",
    "jobs.json",
    expect.stringMatching(/^uploads\//),
    "pictures.json",
  ]);
  const user: Pick<UserFigures, "id"> = JSON.parse(files.get("account.json")?.toString() ?? "").users[0];
  expect(user.id).toBe(owner.caller.userId);
});

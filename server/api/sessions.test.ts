import {
  createTestServices,
  openAccount,
  openOwner,
  openTestBrowser,
  testOrigin,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { handleTrpc } from "./index.ts";
import { schema } from "../db/index.ts";
import { resolveCaller } from "../accounts/index.ts";
import type { SessionView } from "../accounts/sessions.ts";

let fixture: TestServices;
beforeAll(async () => (fixture = await createTestServices()));
afterAll(() => fixture.close());

async function signIn(email: string): Promise<TestBrowser> {
  const browser = openTestBrowser(fixture.services);
  expect((await browser.auth("/sign-in/email", { email, password: testPassword })).status).toBe(200);
  return browser;
}

async function ask({ headers }: TestBrowser, path: string, input?: unknown) {
  const all = {
    ...Object.fromEntries(headers),
    "content-type": "application/json",
    "x-forwarded-for": "203.0.113.9",
  };
  const url = `${testOrigin}/api/trpc/account.${path}`;
  const init =
    input === undefined ? {} : { method: "POST", body: JSON.stringify(superjson.serialize(input)) };
  const response = await handleTrpc(fixture.services, new Request(url, { ...init, headers: all }));
  const body = (await response.json()) as { result?: { data: { json: unknown } } };
  return { status: response.status, data: body.result?.data.json };
}

const list = async (browser: TestBrowser) =>
  ((await ask(browser, "sessions")).data as { items: SessionView[] }).items;

test("a user sees the devices that are signed in, and ends one, then all others", async () => {
  const { services } = fixture;
  const email = "devices@example.com";
  const first = await openAccount(services, email);
  const [second, third] = [await signIn(email), await signIn(email)];
  const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  const { userId = "", sessionId = "" } = (await resolveCaller(services, second.headers)) ?? {};
  await services.db
    .update(schema.sessions)
    .set({ userAgent: agent, updatedAt: new Date(Date.now() - 3_600_000), ipAddress: "192.0.2.1" })
    .where(eq(schema.sessions.id, sessionId));
  const seen = await list(first);
  expect(seen.map(({ isCurrent }) => isCurrent).filter(Boolean)).toHaveLength(1);
  expect(seen).toHaveLength(3);
  expect(seen.at(-1)).toMatchObject({
    id: sessionId,
    browser: "Firefox",
    system: "Linux",
    address: "192.0.2.1",
  });
  expect(JSON.stringify(seen)).not.toMatch(/token/i);
  // Using it notes when and from where.
  await ask(second, "sessions");
  await expect
    .poll(async () => (await list(first)).find(({ id }) => id === sessionId)?.address)
    .toBe("203.0.113.9");

  const stranger = await openAccount(services, "not-mine@example.com");
  expect((await ask(stranger, "endSession", { id: sessionId })).status).toBe(404);
  expect((await ask(first, "endSession", { id: sessionId })).status).toBe(200);
  expect(await resolveCaller(services, second.headers)).toBeNull();
  expect(await resolveCaller(services, third.headers)).not.toBeNull();
  expect((await ask(first, "endOtherSessions", null)).data).toEqual({ ended: 1 });
  expect(await resolveCaller(services, third.headers)).toBeNull();
  expect((await list(first)).map(({ isCurrent }) => isCurrent)).toEqual([true]);
  const kinds = await services.db
    .select({ kind: schema.auditEntries.kind })
    .from(schema.auditEntries)
    .where(eq(schema.auditEntries.actorId, userId))
    .orderBy(schema.auditEntries.id);
  expect(kinds.map(({ kind }) => kind).slice(-2)).toEqual([
    "account.session_ended",
    "account.sessions_ended",
  ]);
});

test("a key neither sees devices nor signs them out: one that leaked would keep its owner out", async () => {
  const { services } = fixture;
  const owner = await openOwner(services, "by-key@example.com");
  const call = (path: string, method: string) =>
    handleTrpc(
      services,
      new Request(`${testOrigin}/api/trpc/account.${path}`, {
        method,
        headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
        ...(method === "POST" ? { body: "{}" } : {}),
      }),
    );
  expect((await call("sessions", "GET")).status).toBe(403);
  expect((await call("endOtherSessions", "POST")).status).toBe(403);
  expect(await resolveCaller(services, owner.browser.headers)).not.toBeNull();
});

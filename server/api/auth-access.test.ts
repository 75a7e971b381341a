import {
  createTestServices,
  openAccount,
  openGuest,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authOf, createApiKey, resolveCaller } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { handleAuth } from "./index.ts";

/** What each endpoint of the accounts library demands. An endpoint that is missing here fails the first test. */
type Case =
  /** Answers without a session, with this status. */
  | { readonly access: "public"; readonly body?: object; readonly status: number }
  /** Without a session 401, or `refused`. */
  | { readonly access: "session"; readonly body?: object; readonly refused?: number }
  | { readonly access: "admin"; readonly body?: object }
  /** 404 for all, also for admins. */
  | { readonly access: "closed"; readonly body?: object }
  /** Has no path: only this product's own code can call it. */
  | { readonly access: "server" };

const user = { userId: "unknown" };
const credentials = { email: "unknown@example.com", password: "a wrong password" };

const cases: Readonly<Record<string, Case>> = {
  ok: { access: "public", status: 200 },
  error: { access: "public", status: 200 },
  getSession: { access: "public", status: 200 },
  signOut: { access: "public", status: 200 },
  signInEmail: { access: "public", body: credentials, status: 401 },
  signUpEmail: { access: "public", body: { ...credentials, password: "short", name: "N" }, status: 400 },
  signInAnonymous: { access: "public", status: 200 },
  // Without a mail server and without sign-in at other sites these lead nowhere.
  callbackOAuth: { access: "public", status: 302 },
  resetPassword: { access: "public", body: { newPassword: "long enough", token: "unknown" }, status: 400 },
  requestPasswordReset: { access: "public", body: { email: credentials.email }, status: 400 },
  requestPasswordResetCallback: { access: "public", status: 302 },
  verifyEmail: { access: "public", status: 302 },
  signInSocial: { access: "public", body: { provider: "github" }, status: 404 },
  sendVerificationEmail: { access: "public", body: { email: credentials.email }, status: 400 },
  deleteUserCallback: { access: "public", status: 404 },
  verifyPassword: { access: "session", body: { password: credentials.password } },
  changeEmail: { access: "session", body: { newEmail: "new@example.com" } },
  changePassword: { access: "session", body: { newPassword: "long enough", currentPassword: "wrong" } },
  updateSession: { access: "session", body: {} },
  updateUser: { access: "session", body: { name: "New" } },
  deleteUser: { access: "session", body: {} },
  listSessions: { access: "session" },
  revokeSession: { access: "session", body: { token: "unknown" } },
  revokeOtherSessions: { access: "session", body: {} },
  revokeSessions: { access: "session", body: {} },
  linkSocialAccount: { access: "session", body: { provider: "github" } },
  listUserAccounts: { access: "session" },
  unlinkAccount: { access: "session", body: { providerId: "github" }, refused: 400 },
  refreshToken: { access: "session", body: { providerId: "github" }, refused: 400 },
  getAccessToken: { access: "session", body: { providerId: "github" }, refused: 400 },
  accountInfo: { access: "session", refused: 400 },
  userHasPermission: { access: "session", body: { permissions: { user: ["list"] } } },
  stopImpersonating: { access: "session", body: {} },
  getUser: { access: "admin" },
  createUser: { access: "admin", body: { email: "made@example.com", password: "long enough", name: "Made" } },
  listUsers: { access: "admin" },
  listUserSessions: { access: "admin", body: user },
  revokeUserSession: { access: "admin", body: { sessionToken: "unknown" } },
  revokeUserSessions: { access: "admin", body: user },
  impersonateUser: { access: "closed", body: user },
  removeUser: { access: "closed", body: user },
  setRole: { access: "closed", body: { ...user, role: "user" } },
  adminUpdateUser: { access: "closed", body: { ...user, data: { name: "New" } } },
  banUser: { access: "closed", body: user },
  unbanUser: { access: "closed", body: user },
  setUserPassword: { access: "closed", body: { ...user, newPassword: "long enough" } },
  deleteAnonymousUser: { access: "closed", body: {} },
  createApiKey: { access: "closed", body: { name: "new" } },
  getApiKey: { access: "closed" },
  updateApiKey: { access: "closed", body: { keyId: "unknown" } },
  deleteApiKey: { access: "closed", body: { keyId: "unknown" } },
  listApiKeys: { access: "closed" },
  verifyApiKey: { access: "server" },
  deleteAllExpiredApiKeys: { access: "server" },
  setPassword: { access: "server" },
};

interface Endpoint {
  readonly name: string;
  readonly path: string | undefined;
  readonly methods: readonly string[];
}

let fixture: TestServices;
let endpoints: readonly Endpoint[];
let nobody: Readonly<Record<string, Headers>>;
let members: Readonly<Record<string, Headers>>;
let admin: Headers;

async function openCallers(): Promise<void> {
  const { services } = fixture;
  const { db } = services;
  const { users, sessions } = schema;
  const open = async (name: string) => {
    const browser = await openAccount(services, `${name}@example.com`);
    return { browser, id: (await resolveCaller(services, browser.headers))?.userId ?? "" };
  };
  const first = await open("admin");
  await db.update(users).set({ role: "admin" }).where(eq(users.id, first.id));
  const adminKey = (await createApiKey(services, { userId: first.id, name: "admin" })).key;
  const [account, demoted, banned, expired, revoked] = [
    await open("account"),
    await open("demoted"),
    await open("banned"),
    await open("expired"),
    await open("revoked"),
  ];
  for (const { id } of [demoted, banned, expired, revoked])
    await db.update(users).set({ role: "admin" }).where(eq(users.id, id));
  for (const { browser } of [demoted, banned, expired, revoked])
    expect((await ask("listUsers", browser.headers)).status).toBe(200);
  await db.update(users).set({ role: "user" }).where(eq(users.id, demoted.id));
  await db.update(users).set({ banned: true }).where(eq(users.id, banned.id));
  await db
    .update(sessions)
    .set({ expiresAt: new Date(0) })
    .where(eq(sessions.userId, expired.id));
  await db.delete(sessions).where(eq(sessions.userId, revoked.id));
  nobody = {
    "no credentials": new Headers(),
    "an admin's API key": new Headers({ authorization: `Bearer ${adminKey}` }),
    "a banned admin": banned.browser.headers,
    "an expired session of an admin": expired.browser.headers,
    "a revoked session of an admin": revoked.browser.headers,
  };
  members = {
    guest: (await openGuest(services)).headers,
    account: account.browser.headers,
    "demoted admin": demoted.browser.headers,
  };
  admin = first.browser.headers;
}

beforeAll(async () => {
  fixture = await createTestServices();
  const api: object = authOf(fixture.services).api;
  endpoints = Object.entries(api).map(
    ([name, endpoint]: [string, { path?: string; options?: { method?: string | string[] } }]) => ({
      name,
      path: endpoint.path,
      methods: [endpoint.options?.method ?? "POST"].flat(),
    }),
  );
  await openCallers();
});
afterAll(() => fixture.close());

async function send(
  endpoint: Endpoint,
  method: string,
  headers: Headers,
): Promise<{ status: number; body: string }> {
  // The library's limits by address are not what is asked here.
  await fixture.services.db.delete(schema.rateLimits);
  const known = cases[endpoint.name];
  const body = known && "body" in known ? known.body : undefined;
  const query = "id=unknown&callbackURL=/&token=unknown&accountId=unknown&providerId=github&state=unknown";
  const path = (endpoint.path ?? "").replace(/:[a-z]+/i, "unknown");
  const all = { ...Object.fromEntries(headers), host: new URL(testOrigin).host, origin: testOrigin };
  const isRead = method === "GET" || method === "HEAD";
  const response = await handleAuth(
    fixture.services,
    new Request(`${testOrigin}/api/auth${path}${isRead ? `?${query}` : ""}`, {
      method,
      headers: isRead ? all : { ...all, "content-type": "application/json" },
      ...(isRead ? {} : { body: JSON.stringify(body ?? {}) }),
    }),
  );
  return { status: response.status, body: await response.text() };
}

async function ask(name: string, headers: Headers) {
  const endpoint = endpoints.find((known) => known.name === name);
  if (!endpoint) throw new Error(`there is no endpoint ${name}`);
  return send(endpoint, endpoint.methods[0] ?? "POST", headers);
}

const named = (access: Case["access"]) =>
  Object.entries(cases).flatMap(([name, known]) => (known.access === access ? [{ name, known }] : []));

test("S1 every endpoint of the accounts library has a declared case, and every case an endpoint", () => {
  const served = endpoints.map(({ name }) => name);
  expect(Object.keys(cases).toSorted()).toEqual(served.toSorted());
  const withoutPath = endpoints.filter(({ path }) => path === undefined).map(({ name }) => name);
  expect(
    named("server")
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(withoutPath.toSorted());
});

test.each(named("closed"))("S1 $name is closed for all callers", async ({ name }) => {
  for (const headers of [...Object.values(nobody), ...Object.values(members), admin])
    expect((await ask(name, headers)).status).toBe(404);
});

test.each([...named("session"), ...named("admin")])(
  "S1 $name refuses callers without a valid session",
  async ({ name, known }) => {
    const refused = "refused" in known ? known.refused : 401;
    for (const [who, headers] of Object.entries(nobody))
      expect([who, (await ask(name, headers)).status]).toEqual([who, refused]);
  },
);

test.each(named("admin"))(
  "S1 $name refuses callers who are no admin, and reaches an admin",
  async ({ name }) => {
    for (const [who, headers] of Object.entries(members))
      expect([who, (await ask(name, headers)).status]).toEqual([who, 403]);
    expect([401, 403]).not.toContain((await ask(name, admin)).status);
  },
);

test.each(named("public"))(
  "S1 $name answers a caller without a session as declared",
  async ({ name, known }) => {
    const { status } = await ask(name, new Headers());
    expect([name, status]).toEqual([name, "status" in known ? known.status : 0]);
  },
);

test("S1 HEAD shows and changes nothing at any endpoint", async () => {
  const { db } = fixture.services;
  const counts = async () => [await db.$count(schema.users), await db.$count(schema.sessions)];
  const before = await counts();
  for (const endpoint of endpoints) {
    if (endpoint.path === undefined) continue;
    for (const headers of [new Headers(), admin]) {
      const answer = await send(endpoint, "HEAD", headers);
      expect([endpoint.name, answer.status]).toEqual([endpoint.name, 404]);
    }
  }
  expect(await counts()).toEqual(before);
});

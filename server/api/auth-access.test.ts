import {
  createTestServices,
  openAccount,
  openGuest,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  authOf,
  createApiKey,
  createUser,
  findAccount,
  resolveCaller,
  servedAuthPaths,
} from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { handleAuth } from "./index.ts";

/** What each served endpoint of the accounts library demands; every other endpoint of the library must be closed. */
type Case =
  /** Answers without a session, with this status. */
  | { readonly access: "public"; readonly body?: object; readonly status: number }
  /** Without a session 401. */
  | { readonly access: "session"; readonly body?: object };

const user = { userId: "unknown" };
const credentials = { email: "unknown@example.com", password: "a wrong password" };

const cases: Readonly<Record<string, Case>> = {
  getSession: { access: "public", status: 200 },
  signOut: { access: "public", status: 200 },
  signInEmail: { access: "public", body: credentials, status: 401 },
  signUpEmail: { access: "public", body: { ...credentials, password: "short", name: "N" }, status: 400 },
  signInSocial: { access: "public", body: { provider: "unknown", callbackURL: "/" }, status: 404 },
  callbackOAuth: { access: "public", status: 302 },
  signInAnonymous: { access: "public", status: 200 },
  changePassword: { access: "session", body: { newPassword: "long enough", currentPassword: "wrong" } },
  updateUser: { access: "session", body: { name: "New" } },
  enableTwoFactor: { access: "session", body: { password: credentials.password } },
  disableTwoFactor: { access: "session", body: { password: credentials.password } },
  generateBackupCodes: { access: "session", body: { password: credentials.password } },
  verifyTOTP: { access: "session", body: { code: "123456" } },
  verifyBackupCode: { access: "session", body: { code: "abcde-fghij" } },
  generatePasskeyRegistrationOptions: { access: "session" },
  verifyPasskeyRegistration: { access: "session", body: { response: {} } },
  generatePasskeyAuthenticationOptions: { access: "public", status: 200 },
  verifyPasskeyAuthentication: { access: "public", body: { response: { id: "unknown" } }, status: 400 },
  revokeSessions: { access: "session", body: {} },
};

/** Bodies that closed endpoints would take if they were open, for those that do most. */
const closedBodies: Readonly<Record<string, object>> = {
  createUser: { email: "made@example.com", password: "long enough", name: "Made", role: "service" },
  verifyPassword: { password: credentials.password },
  setRole: { ...user, role: "admin" },
  banUser: user,
  removeUser: user,
  impersonateUser: user,
  revokeUserSessions: user,
  setUserPassword: { ...user, newPassword: "long enough" },
  userHasPermission: { permissions: { user: ["list"] } },
  createApiKey: { name: "new" },
  requestPasswordReset: { email: credentials.email },
  deleteUser: {},
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
    expect((await ask("updateUser", browser.headers)).status).toBe(200);
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
  const body = known && "body" in known ? known.body : closedBodies[endpoint.name];
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

test("S1 the endpoints of the accounts library that are served are those with a case, and no others", () => {
  const served = endpoints.filter(({ path }) => path !== undefined && servedAuthPaths.has(path));
  expect(served.map(({ name }) => name).toSorted()).toEqual(Object.keys(cases).toSorted());
  expect(servedAuthPaths.size).toBe(served.length);
  for (const { path, methods } of served)
    expect([path, servedAuthPaths.get(path ?? "")]).toEqual([path, methods]);
  for (const name of Object.keys(closedBodies))
    expect([name, endpoints.some((endpoint) => endpoint.name === name)]).toEqual([name, true]);
});

test("S1 every other endpoint of the library is closed for all callers, admins included, by every method", async () => {
  const closed = endpoints.filter(({ name, path }) => path !== undefined && cases[name] === undefined);
  expect(closed.length).toBeGreaterThan(35);
  const { users } = schema;
  const before = await fixture.services.db.$count(users);
  const callers = { nobody: new Headers(), ...members, admin };
  for (const endpoint of closed)
    for (const [who, headers] of Object.entries(callers))
      for (const method of endpoint.methods) {
        const { status } = await send(endpoint, method, headers);
        expect([endpoint.name, who, method, status]).toEqual([endpoint.name, who, method, 404]);
      }
  expect(await fixture.services.db.$count(users)).toBe(before);
});

test("S1 no spelling of a closed address reaches its endpoint", async () => {
  const spellings = [
    "/admin/create-user/",
    "//admin/create-user",
    "/admin//create-user",
    "/admin/./create-user",
    "/get-session/../admin/create-user",
    "/admin%2Fcreate-user",
    "/admin/create%2Duser",
    "/Admin/Create-User",
    "/admin/create-user%00",
    "/verify-password?x=/get-session",
  ];
  for (const path of spellings)
    for (const headers of [admin, new Headers()]) {
      const { status } = await send({ name: "createUser", path, methods: [] }, "POST", headers);
      expect([path, status]).toEqual([path, 404]);
    }
});

test.each(named("session"))("S1 $name refuses callers without a valid session", async ({ name }) => {
  for (const [who, headers] of Object.entries(nobody))
    expect([who, (await ask(name, headers)).status]).toEqual([who, 401]);
});

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
      const { status } = await send(endpoint, "HEAD", headers);
      const refused = servedAuthPaths.has(endpoint.path) ? 405 : 404;
      expect([endpoint.name, status]).toEqual([endpoint.name, refused]);
    }
  }
  expect(await counts()).toEqual(before);
});

test.each([
  ["joerg@exämple.org", "joerg@xn--exmple-cua.org"],
  ["Anna@BÜCHER.example", "anna@xn--bcher-kva.example"],
])("A13 an account of %s is the one of %s, by the command and by the page", async (written, stored) => {
  const { services } = fixture;
  await createUser(services, { email: written, password: credentials.password });
  const ask = (path: string, email: string) =>
    handleAuth(
      services,
      new Request(`${testOrigin}/api/auth${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: testOrigin },
        body: JSON.stringify({ name: "N", email, password: credentials.password }),
      }),
    );
  for (const email of [written, stored]) expect((await ask("/sign-in/email", email)).status).toBe(200);
  expect((await ask("/sign-up/email", written)).status).toBe(422);
  expect(await findAccount(services, { email: written })).toEqual(
    await findAccount(services, { email: stored }),
  );
});

test.each([
  "jörg@example.org",
  "a@b",
  "a@@example.org",
  "@example.org",
  "a b@example.org",
  "a@exa mple.org",
  "a@x@invalid",
])("A13 no account is made for %s, with a sentence that says why", async (email) => {
  await expect(createUser(fixture.services, { email, password: credentials.password })).rejects.toMatchObject(
    {
      code: "bad_request",
      message: expect.stringMatching(
        /^email is (not an e-mail address that can be used: before the @|reserved)/,
      ),
    },
  );
});

import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { resetPassword, resolveCaller } from "./index.ts";
import { signInTries } from "./sign-in-limit.ts";

let test1: TestServices;

beforeAll(async () => {
  test1 = await createTestServices();
});
afterAll(() => test1.close());

const caller = (headers: Headers) => resolveCaller(test1.services, headers);

describe("sessions", () => {
  test("a guest has a session without an e-mail address", async () => {
    const guest = await openGuest(test1.services);
    expect(await caller(guest.headers)).toMatchObject({ isGuest: true, isAdmin: false, via: "session" });
  });

  test("nobody calls without a session, with a forged cookie or with a wrong key beside a good cookie", async () => {
    const guest = await openGuest(test1.services);
    expect(await caller(new Headers())).toBeNull();
    const forged = new Headers(guest.headers);
    forged.set(
      "cookie",
      (forged.get("cookie") ?? "").replace(/=(.)/, (_, first) => (first === "a" ? "=b" : "=a")),
    );
    expect(await caller(forged)).toBeNull();
    const wrongKey = new Headers(guest.headers);
    wrongKey.set("authorization", "Bearer atelier_unknown");
    expect(await caller(wrongKey)).toBeNull();
  });

  test("signing out everywhere ends the sessions of all browsers at once", async () => {
    const first = await openAccount(test1.services, "everywhere@example.com");
    const second = openTestBrowser(test1.services);
    await second.auth("/sign-in/email", { email: "everywhere@example.com", password: testPassword });
    const stale = [new Headers(first.headers), new Headers(second.headers)];
    for (const headers of stale) expect(await caller(headers)).not.toBeNull();
    expect((await second.auth("/revoke-sessions")).status).toBe(200);
    for (const headers of stale) expect(await caller(headers)).toBeNull();
  });

  test("a changed password replaces the old one and ends the other sessions when asked to", async () => {
    const email = "change@example.com";
    const browser = await openAccount(test1.services, email);
    const other = openTestBrowser(test1.services);
    await other.auth("/sign-in/email", { email, password: testPassword });
    const newPassword = "another long password";
    const changed = await browser.auth("/change-password", {
      currentPassword: testPassword,
      newPassword,
      revokeOtherSessions: true,
    });
    expect(changed.status).toBe(200);
    expect(await caller(browser.headers)).not.toBeNull();
    expect(await caller(other.headers)).toBeNull();
    expect((await other.auth("/sign-in/email", { email, password: testPassword })).status).toBe(401);
    expect((await other.auth("/sign-in/email", { email, password: newPassword })).status).toBe(200);
  });

  test("a password set on the command line ends all sessions", async () => {
    const email = "reset@example.com";
    const browser = await openAccount(test1.services, email);
    await resetPassword(test1.services, { email, password: "set by the operator" });
    expect(await caller(browser.headers)).toBeNull();
    const answer = await browser.auth("/sign-in/email", { email, password: "set by the operator" });
    expect(answer.status).toBe(200);
  });

  test("a banned account is nobody, also with an open session", async () => {
    const browser = await openAccount(test1.services, "banned@example.com");
    const { users } = schema;
    await test1.services.db.update(users).set({ banned: true }).where(eq(users.email, "banned@example.com"));
    expect(await caller(browser.headers)).toBeNull();
  });

  test("passwords have at least ten characters", async () => {
    const browser = openTestBrowser(test1.services);
    const body = { email: "short@example.com", password: "123456789", name: "Short" };
    expect((await browser.auth("/sign-up/email", body)).status).toBe(400);
  });

  test("nobody makes themselves admin or guest at sign-up", async () => {
    const body = { password: testPassword, name: "Sly" };
    for (const extra of [{ role: "admin" }, { isAnonymous: true }]) {
      const email = `sly-${Object.keys(extra)[0]}@example.com`.toLowerCase();
      await openTestBrowser(test1.services).auth("/sign-up/email", { ...body, ...extra, email });
      const { users } = schema;
      const [user] = await test1.services.db.select().from(users).where(eq(users.email, email));
      expect([user?.role ?? "user", user?.isAnonymous ?? false]).toEqual(["user", false]);
    }
  });

  test("S5 sign-in answers 429 after ten tries a minute, whatever address they come from", async () => {
    const email = "guessed@example.com";
    await openAccount(test1.services, email);
    const statuses: number[] = [];
    for (let index = 0; index <= signInTries; index += 1) {
      const answer = await openTestBrowser(test1.services).auth(
        "/sign-in/email",
        { email: index % 2 ? email : email.toUpperCase(), password: "a wrong password" },
        { "x-forwarded-for": `203.0.113.${index}` },
      );
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([...Array.from({ length: signInTries }, () => 401), 429]);
    const right = await openTestBrowser(test1.services).auth("/sign-in/email", {
      email,
      password: testPassword,
    });
    expect(right.status).toBe(429);
  });
});

describe("S5 requests forged by another site", () => {
  const body = { email: "victim@example.com", password: testPassword, name: "Victim" };

  test("change nothing, with and without a cookie", async () => {
    const browser = await openAccount(test1.services, "target@example.com");
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const answers = [
      await browser.auth("/revoke-sessions", {}, foreign),
      await browser.auth("/revoke-sessions", {}, { origin: "null" }),
      await browser.auth("/update-user", { name: "Mallory" }, foreign),
      await openTestBrowser(test1.services).auth("/sign-up/email", body, foreign),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(await caller(browser.headers)).not.toBeNull();
  });

  test("a LAN address, another port and a proxy's host work without configuration", async () => {
    for (const [host, origin, forwarded] of [
      ["192.168.1.20:3000", "http://192.168.1.20:3000", undefined],
      ["localhost:4100", "http://localhost:4100", undefined],
      ["127.0.0.1:3000", "https://studio.example.com", "studio.example.com"],
    ] as const) {
      const guest = openTestBrowser(test1.services);
      const headers = { host, origin, ...(forwarded ? { "x-forwarded-host": forwarded } : {}) };
      expect((await guest.auth("/sign-in/anonymous", {}, headers)).status).toBe(200);
      expect((await guest.auth("/sign-out", {}, headers)).status).toBe(200);
    }
  });
});

import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { firstAdminSecret } from "./first-admin.ts";
import {
  authOf,
  createInvitation,
  createUser,
  entryTokenHeader,
  listInvitations,
  readEntry,
  revokeInvitation,
  workerAccount,
} from "./index.ts";

const { users, invitations } = schema;
const token = "the-token-that-the-supervisor-has-printed";
let fixture: TestServices;
let services: Services;

beforeAll(async () => {
  fixture = await createTestServices();
  services = fixture.services;
  const secrets = path.join(services.env.ATELIER_DATA_DIR, "secrets");
  await mkdir(secrets, { recursive: true });
  await writeFile(path.join(secrets, firstAdminSecret), `${token}\n`);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await services.db.delete(users);
});

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const withToken = (value: string) => ({ [entryTokenHeader]: value });
const newAccount = (email: string) => ({ email, password: testPassword, name: email });

async function admins(): Promise<string[]> {
  const rows = await services.db.select({ email: users.email }).from(users).where(eq(users.role, "admin"));
  return rows.map(({ email }) => email);
}

async function signUp(at: Services, email: string, value?: string): Promise<number> {
  const headers = value === undefined ? {} : withToken(value);
  return (await openTestBrowser(at).auth("/sign-up/email", newAccount(email), headers)).status;
}

describe("the first admin", () => {
  test("an account without the printed token is an ordinary one, also the very first", async () => {
    await openGuest(services);
    expect(await signUp(services, "first@example.com")).toBe(200);
    expect(await signUp(services, "guessed@example.com", "a guess")).toBe(200);
    await createUser(services, newUser("operator-made@example.com"));
    expect(await admins()).toEqual([]);
    expect(await readEntry(services)).toMatchObject({ signUp: "open", needsAdmin: true });
  });

  test("of ten sign-ups at once with the token in two processes exactly one becomes admin", async () => {
    const other = await fixture.openAnother();
    const racers = Array.from({ length: 10 }, (_, index) =>
      signUp(index % 2 ? services : other, `racer-${index}@example.com`, token),
    );
    expect(await Promise.all(racers)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await admins()).toHaveLength(1);
    expect(await readEntry(services)).toMatchObject({ signUp: "open", needsAdmin: false });
  });

  test("the token is over with the first admin, also one of the command line", async () => {
    await createUser(services, { ...newUser("admin@example.com"), isAdmin: true });
    await signUp(services, "late@example.com", token);
    expect(await admins()).toEqual(["admin@example.com"]);
  });

  test("an account that is already there becomes admin when it signs in with the token; a guest never does", async () => {
    const email = "oldest@example.com";
    await openAccount(services, email);
    await openTestBrowser(services).auth("/sign-in/anonymous", {}, withToken(token));
    expect(await admins()).toEqual([]);
    const body = { email, password: testPassword };
    await openTestBrowser(services).auth("/sign-in/email", body, withToken(token));
    expect(await admins()).toEqual([email]);
  });

  test("A14 the account of the workers is made once and never becomes admin", async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => workerAccount(services)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await signUp(services, "first@example.com", token)).toBe(200);
    const rows = await services.db.select({ email: users.email, role: users.role }).from(users);
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ email: "first@example.com", role: "admin" });
    expect(rows).toContainEqual({ email: "workers@atelier.invalid", role: "service" });
  });
});

function newUser(email: string) {
  return { email, password: testPassword };
}

describe("SIGN_UP", () => {
  const at = (signUps: "invite" | "closed"): Services => ({
    ...services,
    env: { ...services.env, SIGN_UP: signUps },
  });
  const invite = (days = 7) => createInvitation(at("invite"), { createdBy: null, days });

  test("closed lets neither guests nor new accounts in, but sign-ins and the first admin", async () => {
    const studio = at("closed");
    const { token: invitation } = await invite();
    await createUser(studio, newUser("known@example.com"));
    const enter = openTestBrowser(studio);
    expect((await enter.auth("/sign-in/anonymous")).status).toBe(403);
    expect(await signUp(studio, "new@example.com")).toBe(403);
    expect(await signUp(studio, "new@example.com", invitation)).toBe(403);
    expect((await enter.auth("/sign-in/email", newUser("known@example.com"))).status).toBe(200);
    expect(await signUp(studio, "admin@example.com", token)).toBe(200);
    expect(await admins()).toEqual(["admin@example.com"]);
    expect(await signUp(studio, "second@example.com", token)).toBe(403);
  });

  test(
    "of ten sign-ups at once with the printed token one account is made, whether invited or closed",
    inAll,
    async () => {
      for (const mode of ["invite", "closed"] as const) {
        await services.db.delete(users);
        await services.db.delete(invitations);
        const racers = Array.from({ length: 10 }, (_, index) =>
          signUp(at(mode), `racer-${index}@example.com`, token),
        );
        const answers = await Promise.all(racers);
        expect(answers.toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 9 }, () => 403)]);
        expect(await services.db.$count(users)).toBe(1);
        expect(await admins()).toHaveLength(1);
      }
    },
  );

  test("of five sign-ups at once with one address all but one hear that it is taken", async () => {
    const body = { name: "One", ...newUser("one@example.com") };
    const from = { "x-forwarded-for": "198.51.100.20" };
    const racers = Array.from({ length: 5 }, async () => {
      const answer = await openTestBrowser(services).auth("/sign-up/email", body, from);
      return answer.ok ? 200 : Reflect.get(Object(await answer.json()), "code");
    });
    const answers = await Promise.all(racers);
    const taken = Array.from({ length: 4 }, () => "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL");
    expect(answers.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([200, ...taken]);
    expect(await services.db.$count(users)).toBe(1);
  });

  test("a sign-up needs one connection: three at once end where a process has no second", async () => {
    const narrow = await createTestServices({ env: { DATABASE_MAX_CONNECTIONS: "1", SIGN_UP: "invite" } });
    try {
      const { token: invitation } = await createInvitation(narrow.services, { createdBy: null, days: 7 });
      const racers = Array.from({ length: 3 }, (_, index) =>
        signUp(narrow.services, `racer-${index}@example.com`, invitation),
      );
      const answers = (await Promise.all(racers)).toSorted((a, b) => a - b);
      expect(answers).toEqual([200, ...Array.from({ length: 2 }, () => 403)]);
    } finally {
      await narrow.close();
    }
  });

  test("a sign-up holds no connection while its password is hashed", async () => {
    const narrow = await createTestServices({ env: { DATABASE_MAX_CONNECTIONS: "1" } });
    try {
      const { password } = await authOf(narrow.services).$context;
      const { hash } = password;
      password.hash = async (text) => {
        await narrow.services.db.execute(sql`select 1`);
        return hash(text);
      };
      expect(await signUp(narrow.services, "hashed@example.com", "")).toBe(200);
    } finally {
      await narrow.close();
    }
  });

  test("a sign-up with the printed token that failed is not the last one", async () => {
    await services.db.delete(invitations);
    await services.db.insert(invitations).values({
      id: newId(),
      tokenHash: hashOf(token),
      expiresAt: new Date(),
      usedAt: new Date(Date.now() - 61_000),
    });
    expect(await signUp(at("invite"), "later@example.com", token)).toBe(200);
  });

  test("invite lets exactly one account in with each invitation, and no guests", async () => {
    const studio = at("invite");
    const { token: invitation } = await invite();
    const guest = await openTestBrowser(studio).auth("/sign-in/anonymous");
    expect([guest.status, await guest.json()]).toMatchObject([403, { code: "GUESTS_CLOSED" }]);
    expect(await signUp(studio, "without@example.com")).toBe(403);
    const racers = Array.from({ length: 5 }, (_, index) =>
      signUp(studio, `racer-${index}@example.com`, invitation),
    );
    expect((await Promise.all(racers)).toSorted((a, b) => a - b)).toEqual([200, 403, 403, 403, 403]);
    expect(await services.db.$count(users)).toBe(1);
    expect(await admins()).toEqual([]);
  });

  test("an account without an invitation is noted as such; one that an invitation, an admin or the command line made is not", async () => {
    const { token: invitation } = await invite();
    expect(await signUp(services, "stranger@example.com")).toBe(200);
    expect(await signUp(services, "guest@example.com", invitation)).toBe(200);
    expect(await signUp(services, "late@example.com", invitation)).toBe(200);
    expect(await signUp(services, "first@example.com", token)).toBe(200);
    await createUser(services, newUser("made@example.com"));
    const forged = { ...newAccount("forged@example.com"), selfMade: false };
    const answer = await openTestBrowser(services).auth("/sign-up/email", forged);
    const selfMade = await services.db
      .select({ email: users.email })
      .from(users)
      .where(eq(users.selfMade, true));
    const isRefused = answer.status !== 200;
    expect(selfMade.map(({ email }) => email).toSorted()).toEqual([
      ...(isRefused ? [] : ["forged@example.com"]),
      "late@example.com",
      "stranger@example.com",
    ]);
  });

  test("a taken address or a short password leaves the invitation unused", async () => {
    const studio = at("invite");
    const { token: invitation } = await invite();
    await createUser(studio, newUser("taken@example.com"));
    expect(await signUp(studio, "taken@example.com", invitation)).toBe(422);
    const short = { ...newAccount("short@example.com"), password: "short" };
    const answer = await openTestBrowser(studio).auth("/sign-up/email", short, withToken(invitation));
    expect(answer.status).toBe(400);
    expect(await signUp(studio, "new@example.com", invitation)).toBe(200);
  });

  test("an invitation that has expired or was revoked lets nobody in; the database holds no token", async () => {
    const studio = at("invite");
    await services.db.delete(invitations);
    const [late, revoked, kept] = [await invite(), await invite(), await invite()];
    await services.db
      .update(invitations)
      .set({ expiresAt: new Date(Date.now() - 1_000) })
      .where(eq(invitations.id, late.id));
    await revokeInvitation(studio, { id: revoked.id, adminId: null });
    await expect(revokeInvitation(studio, { id: newId(), adminId: null })).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await signUp(studio, "late@example.com", late.token)).toBe(403);
    expect(await signUp(studio, "revoked@example.com", revoked.token)).toBe(403);
    const { token: keptToken, ...view } = kept;
    expect(await listInvitations(studio)).toEqual([view]);
    expect(JSON.stringify(await services.db.select().from(invitations))).not.toContain(keptToken);
  });
});

test("A14 the account of the workers is never an account of a person that holds its address", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const email = "workers@atelier.invalid";
    // Made by an earlier version, which accepted the address.
    await services.db.insert(users).values({ id: "squatter", name: "Sly", email, role: "user" });
    const made = await Promise.all(Array.from({ length: 5 }, () => workerAccount(services)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(made[0]?.id).not.toBe("squatter");
    const rows = await services.db.select({ id: users.id, role: users.role }).from(users);
    expect(rows).toContainEqual({ id: "squatter", role: "user" });
    expect(rows).toContainEqual({ id: made[0]?.id, role: "service" });
    expect(rows).toHaveLength(2);
  } finally {
    await fixture.close();
  }
});

test("A14 the account of the workers is found by its role when its address was changed", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const { id } = await workerAccount(services);
    await services.db.update(users).set({ email: "changed@example.com" }).where(eq(users.id, id));
    expect(await workerAccount(services)).toEqual({ id });
  } finally {
    await fixture.close();
  }
});

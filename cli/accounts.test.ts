import { execFile } from "node:child_process";
import path from "node:path";
import { resolveCaller } from "@atelier/server/accounts";
import {
  createTestServices,
  openTestBrowser,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";

const main = path.join(import.meta.dirname, "main.ts");
const email = "operator@example.com";
let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

interface Run {
  readonly code: number;
  readonly out: string;
  readonly said: string;
}

function atelier(...args: string[]): Promise<Run> {
  return atelierWith({}, args);
}

function atelierWith(extra: Readonly<Record<string, string>>, args: string[]): Promise<Run> {
  const { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR } = fixture.services.env;
  const env = { ...process.env, DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR, ...extra };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, said) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, said }),
    );
  });
}

const signIn = (password: string) =>
  openTestBrowser(fixture.services).auth("/sign-in/email", { email, password });

test("an operator makes an admin and a key, and sets a password that ends all sessions", async () => {
  expect(await atelier("create-user", "--email", email, "--password", testPassword, "--admin")).toMatchObject(
    {
      code: 0,
    },
  );
  const browser = openTestBrowser(fixture.services);
  await browser.auth("/sign-in/email", { email, password: testPassword });
  expect(await resolveCaller(fixture.services, browser.headers)).toMatchObject({ isAdmin: true });

  const made = await atelier("create-api-key", "--email", email);
  expect(made.out).toMatch(/^atelier_[A-Za-z]{48}\n$/);
  const headers = new Headers({ authorization: `Bearer ${made.out.trim()}` });
  expect(await resolveCaller(fixture.services, headers)).toMatchObject({ isAdmin: true, via: "api_key" });

  const newPassword = "set on the command line";
  expect((await atelier("reset-password", "--email", email, "--password", newPassword)).code).toBe(0);
  expect(await resolveCaller(fixture.services, browser.headers)).toBeNull();
  expect([(await signIn(testPassword)).status, (await signIn(newPassword)).status]).toEqual([401, 200]);
});

test("A1 what is wrong is said in words, without a stack trace, and the exit code is 1", async () => {
  const cases: [string[], RegExp][] = [
    [["create-user", "--email", email, "--password", testPassword], /already an account/],
    [["create-user", "--email", "nonsense", "--password", testPassword], /email is not an e-mail address/],
    [["create-user", "--email", "short@example.com", "--password", "short"], /at least 10 characters/],
    [["create-user", "--password", testPassword], /Missing: --email/],
    [["create-user", "--mail", "x"], /Unknown option/],
    [["create-api-key", "--email", "nobody@example.com"], /no account with the address nobody@example.com/],
    [["reset-password", "--email", "nobody@example.com", "--password", testPassword], /no account/],
  ];
  for (const [args, pattern] of cases) {
    const run = await atelier(...args);
    expect([run.code, run.out]).toEqual([1, ""]);
    expect(run.said).toMatch(pattern);
    expect(run.said).not.toMatch(/\n\s+at /);
  }
});

test("A1 a command migrates over DATABASE_DIRECT_URL, not through the pooler", async () => {
  // Nothing listens on port 1, so that the refusal names who was asked.
  const extra = { DATABASE_DIRECT_URL: "postgres://user@127.0.0.1:1/direct" };
  const args = ["create-user", "--email", "pooled@example.com", "--password", testPassword];
  expect(await atelierWith(extra, args)).toMatchObject({
    code: 1,
    out: "",
    said: expect.stringContaining("127.0.0.1:1"),
  });
});

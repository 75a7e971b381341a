import { readFile } from "node:fs/promises";
import path from "node:path";
import { createUser, findAccount, readAdminFactor, spendResetLink } from "@atelier/server/accounts";
import { addGuest } from "@atelier/testing/pictures";
import { createTestServices, testPassword, type TestServices } from "@atelier/testing/services";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { users } from "./users.ts";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices();
  const { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR } = fixture.services.env;
  const env = { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR, LOG_LEVEL: "silent" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await fixture.close();
});
afterEach(() => vi.restoreAllMocks());

/** Runs `atelier users` in this process: the command itself opens and closes what it needs. */
async function run(...args: string[]) {
  const out = vi.spyOn(console, "log").mockReturnValue();
  const said = vi.spyOn(console, "error").mockReturnValue();
  const code = await users(args);
  const linesOf = (spy: typeof out) => spy.mock.calls.flat().join("\n");
  const answer = { code, out: linesOf(out), said: linesOf(said) };
  vi.restoreAllMocks();
  return answer;
}

test("an operator suspends, limits, resets and deletes users, and lists them", async () => {
  const { services } = fixture;
  const email = "managed@example.com";
  const { id } = await createUser(services, { email, password: testPassword });
  expect(await run("suspend", "--email", email)).toMatchObject({ code: 0, out: "" });
  expect(await run("quota", "--email", email, "--mb", "1.5")).toMatchObject({ code: 0 });
  expect((await run("list", "--search", "managed@")).out).toBe(`${id}\tuser\tsuspended\t0/2\t${email}`);
  expect(await run("unsuspend", "--id", id)).toMatchObject({ code: 0 });
  expect(await run("role", "--email", email, "--to", "admin")).toMatchObject({ code: 0 });
  const { out } = await run("reset-link", "--email", email);
  const [, token = ""] = /^http:\/\/[^/]+\/sign-in\/new-password#([\w-]{32})$/.exec(out) ?? [];
  await spendResetLink(services, { token, password: "set by a link" });
  expect(await run("admin-factor", "--to", "on")).toMatchObject({ code: 0 });
  expect(await readAdminFactor(services)).toEqual({ isNeeded: true });
  expect(await run("admin-factor", "--to", "off")).toMatchObject({ code: 0 });
  expect(await run("admin-factor")).toMatchObject({ code: 1, said: expect.stringMatching(/on.*off/) });
  expect(await readAdminFactor(services)).toEqual({ isNeeded: false });
  // The only admin stays.
  expect(await run("delete", "--email", email, "--yes")).toMatchObject({
    code: 1,
    said: expect.stringMatching(/only admin/),
  });
  await createUser(services, { email: "second@example.com", password: testPassword, isAdmin: true });
  expect(await run("delete", "--email", email)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/--yes/),
  });
  expect(await run("delete", "--email", email, "--yes")).toMatchObject({ code: 0 });
  await expect(findAccount(services, { email })).rejects.toThrow(/no account/);
  const guestId = await addGuest(services);
  expect(await run("delete", "--id", guestId, "--yes")).toMatchObject({ code: 0 });
  expect((await run("list")).out).not.toContain(guestId);
  const logFile = path.join(services.env.ATELIER_DATA_DIR, "logs/cli/combined.1.log");
  const audited = async () =>
    (await readFile(logFile, "utf8"))
      .split("\n")
      .filter((line) => line.includes('"audit":true,"adminId":null'))
      .map((line) => (JSON.parse(line) as { action: string }).action);
  const acts = ["suspend", "quota", "unsuspend", "role", "reset-link", "delete", "delete"];
  await expect.poll(audited).toEqual(acts.map((act) => `cli users ${act}`));
});

test.each([
  [["suspend"], /Missing: --email/],
  [["promote", "--email", "a@example.com"], /Usage: atelier users list/],
  [["quota", "--email", "a@example.com", "--mb=-1"], /--mb must be/],
  [["role", "--email", "a@example.com", "--to", "owner"], /--to must be/],
  [["suspend", "--email", "nobody@example.com"], /no account/],
  [["suspend", "--id", "unknown"], /nothing here/],
] as const)("`users %s` is refused with a sentence", async (args, said) => {
  expect(await run(...args)).toMatchObject({ code: 1, out: "", said: expect.stringMatching(said) });
});

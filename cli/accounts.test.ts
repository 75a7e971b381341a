// @module-tag all
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { entryTokenHeader, findAccount, resolveCaller } from "@atelier/server/accounts";
import { findProgram } from "@atelier/testing/processes";
import {
  createTestServices,
  openTestBrowser,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { identify } from "../scripts/process/lock.ts";
import { changeRecords } from "../scripts/supervisor/supervise.ts";

const email = "operator@example.com";
let fixture: TestServices;
let start: readonly string[];

beforeAll(async () => {
  fixture = await createTestServices();
  start = await findProgram("cli/main.ts");
});
afterAll(() => fixture.close());

interface Run {
  readonly code: number;
  readonly out: string;
  readonly said: string;
}

/** Runs a command with `input` as its standard input. */
function atelier(input: string, ...args: string[]): Promise<Run> {
  return atelierWith({}, input, args);
}

const environment = () => {
  const { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR } = fixture.services.env;
  return { ...process.env, DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR };
};

function atelierWith(
  extra: Readonly<Record<string, string | undefined>>,
  input: string,
  args: string[],
  cwd?: string,
): Promise<Run> {
  return new Promise((resolve) => {
    const env = { ...environment(), ...extra };
    const child = execFile(process.execPath, [...start, ...args], { env, cwd }, (error, out, said) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, said }),
    );
    // A command that refuses its arguments ends before it reads.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}

/** Runs a command on a terminal; each answer is typed once its prompt is shown. */
function onTerminal(answers: readonly (readonly [string, string])[], command: string): Promise<Run> {
  return new Promise((resolve) => {
    const waiting = [...answers];
    let shown = "";
    const child = spawn(
      "script",
      ["-qec", `${process.execPath} ${start.join(" ")} ${command}`, "/dev/null"],
      {
        env: environment(),
      },
    );
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      shown += chunk;
      const [prompt, answer] = waiting[0] ?? [];
      if (prompt === undefined || !shown.endsWith(prompt)) return;
      waiting.shift();
      child.stdin.write(`${answer}\r`);
    });
    child.on("close", (code) => resolve({ code: code ?? -1, out: shown, said: "" }));
  });
}

const signIn = (password: string) =>
  openTestBrowser(fixture.services).auth("/sign-in/email", { email, password });

test("an operator makes an admin and a key, and sets a password that ends all sessions", async () => {
  expect(await atelier(`${testPassword}\n`, "create-user", "--email", email, "--admin")).toMatchObject({
    code: 0,
  });
  const browser = openTestBrowser(fixture.services);
  await browser.auth("/sign-in/email", { email, password: testPassword });
  expect(await resolveCaller(fixture.services, browser.headers)).toMatchObject({ isAdmin: true });

  const made = await atelier("", "create-api-key", "--email", email);
  expect(made.out).toMatch(/^atelier_[A-Za-z]{48}\n$/);
  const headers = new Headers({ authorization: `Bearer ${made.out.trim()}` });
  expect(await resolveCaller(fixture.services, headers)).toMatchObject({ isAdmin: true, via: "api_key" });

  const newPassword = "set on the command line";
  expect((await atelier(newPassword, "reset-password", "--email", email)).code).toBe(0);
  expect(await resolveCaller(fixture.services, browser.headers)).toBeNull();
  expect([(await signIn(testPassword)).status, (await signIn(newPassword)).status]).toEqual([401, 200]);
});

test.concurrent("an invitation of the command line lets one account in", { ...inAll }, async () => {
  const { out } = await atelierWith({ SIGN_UP: "invite", APP_URL: "https://studio.example" }, "", ["invite"]);
  const [, token = ""] = /^https:\/\/studio\.example\/sign-in#invitation=([\w-]{32})\n$/.exec(out) ?? [];
  const { services } = fixture;
  const studio = { ...services, env: { ...services.env, SIGN_UP: "invite" as const } };
  const signUp = (name: string) =>
    openTestBrowser(studio).auth(
      "/sign-up/email",
      { email: `${name}@example.com`, password: testPassword, name },
      { [entryTokenHeader]: token },
    );
  expect([(await signUp("invited")).status, (await signUp("second")).status]).toEqual([200, 403]);
});

test("addresses that a command prints name the port of the studio that runs, unless who runs it says another", async () => {
  const { ATELIER_DATA_DIR: dataDir } = fixture.services.env;
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const config = path.resolve("atelier.config.ts");
  await writeFile(path.join(folder, ".env"), "PORT=3456\n");
  const invited = async (port: string | undefined, cwd?: string) => {
    const { out } = await atelierWith(
      { SIGN_UP: "invite", PORT: port, ATELIER_CONFIG: config },
      "",
      ["invite"],
      cwd,
    );
    return out.replace(/\/sign-in#.*\n$/, "");
  };
  const served = (supervisor: object) =>
    changeRecords(dataDir, () => [
      { role: "start", port: 4321, supervisor: { ...identify(process.pid), ...supervisor }, children: [] },
    ]);
  const invitedAll = () =>
    Promise.all([invited(""), invited(undefined, folder), invited("5555"), invited("5555", folder)]);
  const at = (...ports: number[]) => ports.map((port) => `http://localhost:${port}`);
  expect(await invitedAll()).toEqual(at(3000, 3456, 5555, 5555));
  await served({});
  expect(await invitedAll()).toEqual(at(4321, 4321, 5555, 5555));
  await served({ startedAt: "1" });
  expect(await invited("")).toBe("http://localhost:3000");
});

type Refusal = readonly [input: string, args: string[], said: RegExp];

const refusals: Readonly<Record<string, readonly Refusal[]>> = {
  "a wrong account or password": [
    [testPassword, ["create-user", "--email", email], /already an account/],
    [testPassword, ["create-user", "--email", "nonsense"], /email is not an e-mail address/],
    ["short", ["create-user", "--email", "short@example.com"], /at least 10 characters/],
    ["", ["create-user", "--email", "none@example.com"], /No password was given/],
    [
      "",
      ["create-api-key", "--email", "nobody@example.com"],
      /no account with the address nobody@example.com/,
    ],
    [testPassword, ["reset-password", "--email", "nobody@example.com"], /no account/],
  ],
  "wrong flags": [
    [testPassword, ["create-user"], /Missing: --email/],
    ["", ["create-user", "--mail", "x"], /Unknown option/],
    ["", ["create-api-key", "--email", email, "--rights", "read,fly"], /--rights are some of read, create/],
    [
      "",
      ["create-api-key", "--email", email, "--days", "366"],
      /--days must be a whole number from 1 to 365/,
    ],
    ["", ["invite", "--days", "0"], /--days must be a whole number from 1 to 90/],
    [
      "",
      ["create-user", "--email", "a@example.com", "--password", testPassword],
      /Leave it out: the command asks/,
    ],
    [
      "",
      ["reset-password", "--email", email, `--password=${testPassword}`],
      /Leave it out: the command asks/,
    ],
  ],
};

test.concurrent.each(Object.keys(refusals))(
  "A1 %s: said without a stack trace, and the exit code is 1",
  async (name) => {
    // Side by side: each is a process of its own.
    const runs = await Promise.all(
      (refusals[name] ?? []).map(async ([input, args, pattern]) => ({
        pattern,
        ...(await atelier(input, ...args)),
      })),
    );
    expect(runs.length).toBeGreaterThan(0);
    for (const run of runs) {
      expect([run.code, run.out]).toEqual([1, ""]);
      expect(run.said).toMatch(run.pattern);
      expect(run.said).not.toMatch(/\n\s+at /);
    }
  },
);

test.concurrent("a terminal asks twice for a password and shows none of it", async () => {
  const again = "Password again: ";
  const command = "create-user --email typed@example.com";
  const wrong = await onTerminal(
    [
      ["Password: ", testPassword],
      [again, "something else"],
    ],
    command,
  );
  expect(wrong).toMatchObject({ code: 1, out: expect.stringContaining("The two passwords differ.") });
  const made = await onTerminal(
    [
      ["Password: ", testPassword],
      [again, testPassword],
    ],
    command,
  );
  expect(made.code).toBe(0);
  for (const { out } of [wrong, made]) expect(out).not.toContain(testPassword);
  const body = { email: "typed@example.com", password: testPassword };
  expect((await openTestBrowser(fixture.services).auth("/sign-in/email", body)).status).toBe(200);
});

test.concurrent("a password prompt that is broken off makes no account", async () => {
  const run = await onTerminal([["Password: ", "\u0003"]], "create-user --email broken-off@example.com");
  expect(run.code).toBe(1);
  await expect(findAccount(fixture.services, { email: "broken-off@example.com" })).rejects.toThrow(
    /no account/,
  );
});

test.concurrent(
  "A1 a command migrates over DATABASE_DIRECT_URL, not through the pooler",
  { ...inAll },
  async () => {
    // Nothing listens on port 1, so that the refusal names who was asked.
    const extra = { DATABASE_DIRECT_URL: "postgres://user@127.0.0.1:1/direct" };
    const args = ["create-user", "--email", "pooled@example.com"];
    expect(await atelierWith(extra, testPassword, args)).toMatchObject({
      code: 1,
      out: "",
      said: expect.stringContaining("127.0.0.1:1"),
    });
  },
);

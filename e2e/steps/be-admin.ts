import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { resumeSession } from "./be-user.ts";
import type { Account } from "./create-account.ts";

const root = path.join(import.meta.dirname, "../..");

/** The studio whose pages are functions has its database elsewhere, and its secret in the environment: `FunctionParts`. */
function envOfFunctions(): Readonly<Record<string, string>> {
  const parts = process.env.ATELIER_E2E_FUNCTIONS;
  if (parts === undefined) return {};
  const { web, worker } = JSON.parse(parts);
  return { ...worker, AUTH_SECRET: web.AUTH_SECRET };
}

/** Makes an account as an operator does, with the command line, in the studio of a data folder. */
export async function createByCommand(dataDir: string | undefined, ...flags: string[]): Promise<Account> {
  const account = { email: `${randomUUID()}@example.org`, password: "a long enough password" };
  const creating = promisify(execFile)(
    process.execPath,
    ["cli/main.ts", "create-user", "--email", account.email, ...flags],
    {
      cwd: root,
      env: { ...process.env, DATABASE_URL: "", ATELIER_DATA_DIR: dataDir, ...envOfFunctions() },
    },
  );
  creating.child.stdin?.end(account.password);
  await creating;
  return account;
}

/** The admin that all journeys share, whichever process asks for it first; two that ask at once make two. */
async function shareAdmin(dataDir: string): Promise<Account> {
  const file = path.join(dataDir, "admin-of-journeys.json");
  if (existsSync(file)) return JSON.parse(await readFile(file, "utf8"));
  const made = await createByCommand(dataDir, "--admin");
  await writeFile(`${file}.${process.pid}`, JSON.stringify(made));
  await rename(`${file}.${process.pid}`, file);
  return made;
}

/** Gives this browser the session of an admin; ends in the studio. */
export async function beAdmin(page: Page): Promise<void> {
  // Named by playwright.config.ts.
  await resumeSession(page, await shareAdmin(process.env.ATELIER_E2E_DATA_DIR ?? ""));
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
}

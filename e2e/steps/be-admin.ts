import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { resumeSession } from "./be-user.ts";
import type { Account } from "./create-account.ts";

const root = path.join(import.meta.dirname, "../..");

/** Makes an account as an operator does, with the command line, in the studio of a data folder. */
export async function createByCommand(dataDir: string | undefined, ...flags: string[]): Promise<Account> {
  const account = { email: `${randomUUID()}@example.org`, password: "a long enough password" };
  const creating = promisify(execFile)(
    process.execPath,
    ["cli/main.ts", "create-user", "--email", account.email, ...flags],
    {
      cwd: root,
      env: { ...process.env, DATABASE_URL: "", ATELIER_DATA_DIR: dataDir },
    },
  );
  creating.child.stdin?.end(account.password);
  await creating;
  return account;
}

/** The admin that the journeys of this test process share. */
let admin: Promise<Account> | undefined;

/** Gives this browser the session of an admin; ends in the studio. */
export async function beAdmin(page: Page): Promise<void> {
  admin ??= createByCommand(process.env.ATELIER_E2E_DATA_DIR, "--admin");
  await resumeSession(page, await admin);
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
}

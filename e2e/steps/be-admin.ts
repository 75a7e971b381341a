import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { signIn } from "./sign-in.ts";

const root = path.join(import.meta.dirname, "../..");

/** Makes an admin as an operator does, with the command line, and signs in; ends in the studio. */
export async function beAdmin(page: Page): Promise<void> {
  const account = { email: `${randomUUID()}@example.org`, password: "a long enough password" };
  const { email, password } = account;
  const creating = promisify(execFile)(
    process.execPath,
    ["cli/main.ts", "create-user", "--email", email, "--admin"],
    {
      cwd: root,
      env: { ...process.env, DATABASE_URL: "", ATELIER_DATA_DIR: process.env.ATELIER_E2E_DATA_DIR },
    },
  );
  creating.child.stdin?.end(password);
  await creating;
  await signIn(page, account);
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
}

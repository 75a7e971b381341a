import { randomUUID } from "node:crypto";
import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import type { Account } from "./create-account.ts";
import { sameSite } from "./same-site.ts";

/** Gives this browser the session of an existing account, without the sign-in page. */
export async function resumeSession(page: Page, account: Account): Promise<void> {
  const answer = await page.request.post("/api/auth/sign-in/email", { data: account, ...sameSite() });
  expect(answer.ok(), await answer.text()).toBe(true);
}

/** Gives this browser the session of a new account named Ada, without the sign-in page. */
export async function beUser(page: Page): Promise<Account> {
  const account = { email: `${randomUUID()}@example.org`, password: "a long enough password" };
  const data = { name: "Ada", ...account };
  const answer = await page.request.post("/api/auth/sign-up/email", { data, ...sameSite() });
  expect(answer.ok(), await answer.text()).toBe(true);
  return account;
}

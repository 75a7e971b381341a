import { randomUUID } from "node:crypto";
import type { Page } from "@playwright/test";
import { expect } from "../test.ts";

export interface Account {
  readonly email: string;
  readonly password: string;
}

/** Makes an account on the sign-in page, out of whoever uses this browser; ends in the studio. */
export async function createAccount(page: Page): Promise<Account> {
  const account = { email: `${randomUUID()}@example.org`, password: "a long enough password" };
  await page.goto("/sign-in?new=1");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Ada");
  await page.getByRole("textbox", { name: "E-mail" }).fill(account.email);
  await page.getByLabel("Password").fill(account.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  return account;
}

import type { Page } from "@playwright/test";
import type { Account } from "./create-account.ts";

/** Fills in the sign-in page and sends it. */
export async function signIn(page: Page, { email, password }: Account): Promise<void> {
  await page.goto("/sign-in");
  await page.getByRole("textbox", { name: "E-mail" }).fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

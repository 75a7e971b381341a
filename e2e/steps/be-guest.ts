import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { sameSite } from "./same-site.ts";

/** Gives this browser a guest's session, as the first page would. */
export async function beGuest(page: Page): Promise<void> {
  const answer = await page.request.post("/api/auth/sign-in/anonymous", { data: {}, ...sameSite() });
  expect(answer.ok(), await answer.text()).toBe(true);
}

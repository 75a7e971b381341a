import type { Page } from "@playwright/test";

/**
 * Lays the mouse on the message that offers an action, as somebody does who reads it: it goes after eight seconds, which a slow
 * machine needs for the steps before that action, but not from under the mouse.
 */
export async function keepMessage(page: Page, action = "Undo"): Promise<void> {
  await page
    .getByRole("region", { name: "Messages" })
    .getByRole("button", { name: action, exact: true })
    // Under the mouse all of them stay, and the newest is the first.
    .first()
    .hover();
}

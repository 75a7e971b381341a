import type { Page } from "@playwright/test";

/** Chooses what the editor shall do with the picture. */
export async function chooseMode(page: Page, name: string): Promise<void> {
  await page
    .getByRole("radiogroup", { name: "What to do" })
    .getByRole("radio", { name, exact: true })
    .click();
}

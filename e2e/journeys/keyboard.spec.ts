import type { Locator, Page } from "@playwright/test";
import { expect, test } from "../test.ts";

const mostTabs = 60;

async function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element === document.activeElement);
}

/** Presses Tab until the focus is on the target, as somebody without a mouse does. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < mostTabs && !(await hasFocus(target)); tabs += 1) {
    await page.keyboard.press("Tab");
  }
  await expect(target).toBeFocused();
}

test("@all A5 E8 an outfit is changed and compared by keyboard alone", async ({ page }) => {
  await page.goto("/");
  const person = page.getByRole("region", { name: "Person" });
  const garment = page.getByRole("region", { name: "Garment" });
  const result = page.getByRole("region", { name: "Result" });

  await tabTo(page, person.getByRole("button", { name: "Use the sample: astronaut" }));
  await page.keyboard.press("Enter");
  await expect(person.getByRole("img")).toBeVisible();
  await tabTo(page, page.getByRole("checkbox", { name: /shows an adult who agrees/ }));
  await page.keyboard.press("Space");
  await tabTo(page, garment.getByRole("button", { name: "Use the sample: hoodie" }));
  await page.keyboard.press("Enter");
  await expect(garment.getByRole("img")).toBeVisible();
  await expect(page.getByRole("button", { name: "Change outfit" })).toBeEnabled();
  await page.keyboard.press("Control+Enter");

  const slider = result.getByRole("slider", { name: "Before and after" });
  await expect(slider).toBeVisible({ timeout: 120_000 });
  await tabTo(page, slider);
  await page.keyboard.press("End");
  await expect(slider).toHaveAttribute("aria-valuenow", "100");

  await tabTo(page, result.getByRole("link", { name: "Edit" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("application", { name: "Picture to paint on" })).toBeVisible();
});

import { beGuest } from "../steps/be-guest.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A15 a picture that a filter hides is no longer selected, so Delete spares it", async ({ page }) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/gallery");
  await page.getByRole("checkbox", { name: /Select rocket/ }).click();
  await expect(page.getByText("1 selected")).toBeVisible();
  const filter = page.getByRole("group", { name: "Filter the pictures" });
  await filter.getByRole("button", { name: "Starred" }).click();
  await expect(page.getByText("1 selected")).toHaveCount(0);
  await page.keyboard.press("Delete");
  await filter.getByRole("button", { name: "Starred" }).click();
  await expect(page.getByRole("button", { name: "rocket", exact: true })).toBeVisible();
});

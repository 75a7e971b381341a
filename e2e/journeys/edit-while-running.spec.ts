import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { holdJobs } from "../steps/order-node.ts";
import { paintLine } from "../steps/paint-line.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D1 @all marks made while a job runs stay when its result arrives", async ({ browser, page }) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  await chooseMode(page, "Enhance");
  const upscale = page.getByRole("button", { name: "Upscale ×2" });
  await expect(upscale).toBeEnabled();
  // Its result does not come before the marks are made.
  const release = await holdJobs(browser);
  await upscale.click();
  await chooseMode(page, "Remove");
  await paintLine(page, { from: { x: 60, y: 60 }, to: { x: 130, y: 60 }, pictureWidth: 600 });
  await release();
  const versions = page.getByRole("list", { name: "Versions" });
  await expect(versions.getByRole("button", { name: "Version 2" })).toBeVisible({ timeout: 120_000 });
  await expect(versions.getByRole("button", { name: "Version 1" })).toHaveAttribute("aria-current", "true");
  await expect(page.getByRole("button", { name: "Remove object", exact: true })).toBeEnabled();
});

import { beGuest } from "../steps/be-guest.ts";
import { beUser } from "../steps/be-user.ts";
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

test("D1 @all what is selected is shared by one link and processed as one batch; Delete in the dialog deletes nothing", async ({
  page,
}) => {
  await beUser(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "astronaut.png");
  await page.goto("/gallery");
  await page.getByRole("checkbox", { name: /Select rocket/ }).click();
  await page.getByRole("checkbox", { name: /Select astronaut/ }).click();
  const bar = page.getByRole("toolbar", { name: "Selection" });
  await bar.getByRole("button", { name: "Share" }).click();
  const dialog = page.getByRole("dialog", { name: "Share these pictures" });
  await dialog.getByRole("button", { name: "Create link" }).focus();
  await page.keyboard.press("Delete");
  await page.keyboard.press("Enter");
  await expect(dialog.getByText(/Anyone with this address can see it/)).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText("2 selected")).toBeVisible();

  await bar.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Upscale" }).click();
  await expect(page.getByRole("heading", { name: "Upscale: 2 pictures" })).toBeVisible();
  await expect(page.getByRole("main").getByRole("status")).toContainText("2 of 2 done");
});

import { beGuest } from "../steps/be-guest.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all deleted pictures are seen in the trash, restored, deleted for good after a question, and all at once", async ({
  page,
}) => {
  await beGuest(page);
  for (const name of ["rocket.jpg", "coffee.png", "chelsea.png"] as const) await uploadSample(page, name);
  await page.goto("/gallery");
  const tile = (name: string) => page.locator(`[data-tile][aria-label=${name}]`);
  await expect(tile("chelsea").locator("img")).toBeVisible();
  await tile("rocket").focus();
  await page.keyboard.press("Control+a");
  const deleted = expect(page.getByText("3 pictures deleted")).toBeVisible();
  await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Delete" }).click();
  await deleted;

  await page.goto("/gallery?search=is:trashed");
  await expect(tile("rocket")).toBeVisible();
  const isLoaded = () =>
    tile("rocket")
      .locator("img")
      .evaluate((image: HTMLImageElement) => image.naturalWidth > 0);
  await expect.poll(isLoaded).toBe(true);
  await expect(page.getByText("under a day")).toHaveCount(3);
  await tile("rocket").click();
  const told = expect(page.getByText("1 picture restored")).toBeVisible();
  await page.getByRole("button", { name: "Restore", exact: true }).click();
  await told;
  await expect(tile("rocket")).toHaveCount(0);

  await tile("coffee").click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete for good" }).click();
  await expect(tile("coffee")).toHaveCount(0);
  await page.getByRole("button", { name: "Empty the trash" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Empty the trash" }).click();
  await expect(page.getByRole("heading", { name: "The trash is empty" })).toBeVisible();
  await page.goto("/gallery");
  await expect(tile("rocket")).toBeVisible();
  await expect(tile("chelsea")).toHaveCount(0);
});

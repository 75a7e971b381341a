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

test("@all of a stack in the trash one picture is chosen, and restored or deleted, alone", async ({
  page,
}) => {
  await beGuest(page);
  const uprightId = await uploadSample(page, "rocket.jpg", 96);
  await page.goto("/gallery");
  const tiles = page.locator("[data-tile]");
  await tiles.first().focus();
  await page.keyboard.press("r");
  await expect(tiles.first()).toHaveAccessibleName("rocket, stack of 2");
  const turnedId = (await tiles.first().getAttribute("data-tile")) ?? "";
  await page.keyboard.press("Delete");
  await expect(page.getByText("2 pictures deleted")).toBeVisible();

  await page.goto("/gallery?search=is:trashed");
  await expect(tiles).toHaveCount(2);
  const tile = (id: string) => page.locator(`[data-tile="${id}"]`);
  const count = page.getByRole("toolbar", { name: "Selection" }).getByRole("status");
  for (const [clicked, act] of [
    [turnedId, "Restore"],
    [uprightId, "Delete for good"],
  ] as const) {
    await tile(clicked).click();
    await expect(count).toHaveText(/1 selected/);
    await expect(page.getByRole("checkbox", { name: "Select rocket", checked: true })).toHaveCount(1);
    await page.getByRole("button", { name: act, exact: true }).click();
    const sure = page.getByRole("dialog").getByRole("button", { name: act });
    if (act === "Delete for good") await sure.click();
    await expect(tile(clicked)).toHaveCount(0);
  }
  await page.goto("/gallery");
  await expect(tile(turnedId)).toBeVisible();
  await expect(tiles).toHaveCount(1);
});

import { beGuest } from "../steps/be-guest.ts";
import { bringOutfit } from "../steps/bring-outfit.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { record } from "../steps/record.ts";
import { samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

test("@all C1 two pieces that the engine dresses one by one are one order, compared with the person at its end", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/");
  await bringOutfit(page);
  const garment = page.getByRole("region", { name: "Garment" });
  const result = page.getByRole("region", { name: "Result" });
  await page.getByRole("button", { name: "Add another piece" }).click();
  const dialog = page.getByRole("dialog", { name: "Add another piece" });
  await chooseFiles(
    dialog.getByRole("button", { name: "Choose a garment" }),
    samplePath("garment_hoodie.jpg"),
  );
  await expect(dialog).toBeHidden();
  const pieces = garment.getByRole("region", { name: "Further pieces" });
  await expect(pieces.getByRole("img", { name: "Piece 2" })).toBeVisible();
  await expect(pieces.getByText(/^2 passes as one order/)).toBeVisible();
  await page.getByRole("checkbox", { name: /shows an adult who agrees/ }).click();
  await expect(result.getByText(/^Done in /)).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);

  // Who leaves before the answer finds the order again, and does not give it twice.
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  await page.route(/batches\.submit/, async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest(/batches\.submit/);
  await page.getByRole("button", { name: "Change outfit" }).click();
  await asked;
  const links = page.getByRole("navigation").first();
  await links.getByRole("link", { name: "Gallery", exact: true }).click();
  await expect(page).toHaveURL(/gallery/);
  const answered = page.waitForResponse(/batches\.submit/);
  goOn();
  await answered;
  await links.getByRole("link", { name: "Studio", exact: true }).click();
  const passes = await record(result, { selector: "[role=status] + p" });
  await expect(result.getByRole("slider", { name: "Before and after" })).toBeVisible({ timeout: 120_000 });
  expect(await passes()).toContainEqual(expect.stringMatching(/Pass 1 of 2/));
  await expect(page.getByRole("button", { name: "Change outfit" })).toHaveCount(0);

  await test.step("it is one batch of one place, and comes back after a reload", async () => {
    await page.reload();
    await expect(result.getByRole("slider", { name: "Before and after" })).toBeVisible();
    await expect(pieces.getByRole("img", { name: "Piece 2" })).toBeVisible();
    await pieces.getByRole("button", { name: "Remove piece 2" }).click();
    await expect(pieces.getByRole("img")).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Change outfit" })).toBeEnabled();
  });
});

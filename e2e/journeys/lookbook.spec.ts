import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import type { Sample } from "../steps/samples.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

async function addToWardrobe(page: Page, sample: Sample, what: "a person" | "a garment"): Promise<void> {
  const id = await uploadSample(page, sample);
  await page.goto(`/gallery?image=${id}`);
  await page.getByRole("dialog").getByRole("button", { name: "Process" }).click();
  const told = expect(page.getByText("In your wardrobe")).toBeVisible();
  await page.getByRole("menuitem", { name: `Add to the wardrobe as ${what}` }).click();
  await told;
}

test("C1 @all a person is shown in a look of one piece and one of two, as one batch that fills", async ({
  page,
}) => {
  await beGuest(page);
  await addToWardrobe(page, "astronaut.png", "a person");
  await addToWardrobe(page, "garment_tee.jpg", "a garment");
  await addToWardrobe(page, "garment_hoodie.jpg", "a garment");
  await page.goto("/lookbook");
  await page
    .getByRole("group", { name: /^Persons/ })
    .getByRole("checkbox")
    .first()
    .click();
  const garments = page.getByRole("group", { name: /^Garments/ }).getByRole("checkbox");
  await garments.nth(0).click();
  await garments.nth(1).click();
  const together = page.getByRole("region", { name: "Worn together" });
  const second = together.getByRole("listitem", { name: "Look 2" });
  await second.getByRole("button", { name: "Add a piece to look 2" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a piece to look 2" });
  await dialog.getByRole("list", { name: "Garments" }).getByRole("button").first().click();
  await expect(second.getByRole("img")).toHaveCount(2);
  await expect(second.getByText("In 2 passes")).toBeVisible();
  await page.getByRole("checkbox", { name: /adult/ }).click();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: /^Make/ }).click();

  await expect(page).toHaveURL(/\/batches\//);
  const table = page.getByRole("table");
  await expect(table.getByRole("rowheader").getByRole("img", { name: "Person" })).toHaveCount(1);
  await expect(table.getByRole("columnheader").getByRole("img", { name: "Garment" })).toHaveCount(3);
  await expect(page.getByText("2 of 2 done")).toBeVisible({ timeout: 180_000 });
});

import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { sameSite } from "../steps/same-site.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

/** Puts a garment into the wardrobe without the screen. */
async function keepGarment(page: Page, garment: Readonly<Record<string, unknown>>): Promise<void> {
  const data = { json: { what: "garment", ...garment } };
  const answer = await page.request.post("/api/trpc/wardrobe.add", { data, ...sameSite() });
  expect(answer.ok(), await answer.text()).toBe(true);
}

test("C1 a garment of the gallery is kept, named, found, worn in the studio, and taken out with undo", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "garment_tee.jpg");
  await page.goto(`/gallery?image=${id}`);
  const viewer = page.getByRole("dialog");
  await viewer.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Add to the wardrobe as a garment" }).click();
  await expect(page.getByText("In your wardrobe")).toBeVisible();

  await page.goto("/wardrobe");
  await page.getByRole("button", { name: /^Change / }).click();
  const form = page.getByRole("dialog", { name: "Garment" });
  await form.getByLabel("Name").fill("Striped tee");
  await form.getByLabel("Tags").fill("summer, cotton");
  await form.getByRole("button", { name: "Save" }).click();
  const wear = page.getByRole("button", { name: "Wear Striped tee" });
  await expect(wear).toBeVisible();
  await page.getByRole("searchbox", { name: "Search the wardrobe" }).fill("wool");
  await expect(page.getByRole("heading", { name: "Nothing fits" })).toBeVisible();
  await page.getByRole("searchbox", { name: "Search the wardrobe" }).fill("cotton");
  await expect(wear).toBeVisible();

  await page.getByRole("button", { name: "Take Striped tee out" }).click();
  await expect(page.getByRole("heading", { name: "Nothing to wear yet" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(wear).toBeVisible();

  await wear.click();
  await expect(page).toHaveURL(/\/$/);
  await expect(page.getByRole("button", { name: "Use Striped tee" })).toHaveAttribute("aria-pressed", "true");
});

test("C1 shoes are kept and say why they are not worn; the studio offers only what is", async ({ page }) => {
  await beGuest(page);
  const tee = await uploadSample(page, "garment_tee.jpg");
  const shoes = await uploadSample(page, "garment_hoodie.jpg");
  await keepGarment(page, { imageId: tee, name: "Tee", category: "top" });
  await keepGarment(page, { imageId: shoes, name: "Boots", category: "shoes" });
  await page.goto("/wardrobe");
  const boots = page.getByRole("listitem").filter({ hasText: "Boots" });
  await expect(boots.getByText("No engine puts this on yet")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Wear / })).toHaveCount(1);
  expect(await findBarriers(page)).toEqual([]);

  await page.goto("/");
  await expect(page.getByRole("button", { name: "Use Tee" })).toBeVisible();
  await expect(page.getByText("Shoes and accessories of your wardrobe are not offered")).toBeVisible();
  await expect(page.getByRole("button", { name: "Use Boots" })).toHaveCount(0);
});

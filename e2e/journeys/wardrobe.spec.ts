import { beGuest } from "../steps/be-guest.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

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

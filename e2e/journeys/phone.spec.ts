import { chooseFiles } from "../steps/choose-files.ts";
import { samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

test("A5 @phone an outfit is changed on a phone", async ({ page }) => {
  await page.goto("/");
  await chooseFiles(page.getByRole("button", { name: "Choose a photo" }), samplePath("astronaut.png"));
  await expect(page.getByRole("region", { name: "Person" }).getByRole("img")).toBeVisible();
  await chooseFiles(page.getByRole("button", { name: "Choose a garment" }), samplePath("garment_hoodie.jpg"));
  await expect(page.getByRole("region", { name: "Garment" }).getByRole("img")).toBeVisible();
  await page.getByRole("checkbox", { name: /shows an adult who agrees/ }).tap();
  await page.getByRole("button", { name: "Change outfit" }).tap();

  const result = page.getByRole("region", { name: "Result" });
  const slider = result.getByRole("slider", { name: "Before and after" });
  await expect(slider).toBeVisible({ timeout: 60_000 });
  await expect(slider).toBeInViewport();
  await result.getByRole("link", { name: "Edit" }).tap();
  await expect(page.getByRole("application", { name: "Picture to paint on" })).toBeVisible();
});

import { everyPage } from "../steps/every-page.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { furnish } from "../steps/furnish.ts";
import { samplePath } from "../steps/samples.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
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
  await expect(slider).toBeVisible({ timeout: 45_000 });
  await expect(slider).toBeInViewport();
  await result.getByRole("link", { name: "Edit" }).tap();
  await expect(page.getByRole("application", { name: "Picture to paint on" })).toBeVisible();
});

test("WCAG 2.2 AA @phone no page scrolls sideways or has a barrier at 390 pixels", async ({ page }) => {
  test.slow();
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    expect.soft(await sidewaysPx(page), `sideways scroll on ${address}`).toBeLessThanOrEqual(0);
    expect.soft(await findBarriers(page), address).toEqual([]);
  }
});

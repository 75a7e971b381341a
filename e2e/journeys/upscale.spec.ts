import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { readSize } from "../steps/read-size.ts";
import { record } from "../steps/record.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D1 D7 a picture from the gallery is upscaled on the edit page with live progress", async ({ page }) => {
  await beGuest(page);
  // So large that a page or a server that stands still for seconds misses some of its run only.
  const id = await uploadSample(page, "astronaut.png");
  await page.goto("/gallery");
  await page.getByRole("button", { name: "astronaut", exact: true }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Edit" }).click();

  const actions = page.getByRole("complementary", { name: "Actions" });
  await chooseMode(page, "Enhance");
  await expect(actions.getByText("Becomes 1,024 × 1,024 px")).toBeVisible();
  const progress = await record(actions, { selector: "[role=progressbar]", attribute: "aria-valuenow" });
  await actions.getByRole("button", { name: "Upscale ×2" }).click();
  await expect(page.getByRole("list", { name: "Versions" }).getByRole("button")).toHaveCount(2, {
    timeout: 240_000,
  });

  const percents = (await progress()).map(Number);
  expect(new Set(percents).size, percents.join(", ")).toBeGreaterThanOrEqual(5);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  await expect(page.getByText(/^1,024 × 1,024$/)).toBeVisible();
  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(() => shownImageId(picture)).not.toBe(id);
  const resultId = await shownImageId(picture);
  expect(await readSize(page, resultId)).toEqual({ width: 1024, height: 1024 });
});

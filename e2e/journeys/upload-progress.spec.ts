import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { record } from "../steps/record.ts";
import { samplePath } from "../steps/samples.ts";
import { slowUploads } from "../steps/slow-uploads.ts";
import { expect, test } from "../test.ts";

test("A5 A15 @all an upload shows its progress and can be cancelled", async ({ page }) => {
  await beGuest(page);
  await page.goto("/gallery");
  const upload = page.getByRole("button", { name: "Upload", exact: true });
  const endLimit = await slowUploads(page, 30_000);
  await chooseFiles(upload.first(), samplePath("astronaut.png"));
  await page.getByRole("button", { name: /^Open the jobs: Uploading 1 picture/ }).click();

  const tray = page.getByRole("region", { name: "Jobs" });
  const progress = await record(tray, { selector: "[role=progressbar]", attribute: "aria-valuenow" });
  await expect
    .poll(async () => (await progress()).filter((value) => Number(value) > 0 && Number(value) < 100).length)
    .toBeGreaterThan(1);
  await tray.getByRole("button", { name: "Cancel the upload of astronaut.png" }).click();
  await expect(page.getByRole("progressbar")).toHaveCount(0);
  await endLimit();

  await chooseFiles(upload.first(), samplePath("chelsea.png"));
  const tiles = page.getByRole("group", { name: "Pictures", exact: true }).getByRole("button");
  await expect(tiles).toHaveCount(1);
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeOddFiles } from "@atelier/testing/folder";
import { beGuest } from "../steps/be-guest.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { expect, test } from "../test.ts";

/** Every kind of picture, two copies of one, and two kinds of what is none. */
const fileCount = 60;

test.use({ expectedError: /status of (?:413|415|422).*\/api\/v1\/uploads/ });

test("A15 @all a phone's folder of odd files goes in by one drop, and what does not says why", async ({
  page,
}) => {
  const folder = await mkdtemp(path.join(tmpdir(), "odd-"));
  const fates = await writeOddFiles(folder, fileCount);
  const of = (fate: Parameters<typeof fates.get>[0]) => fates.get(fate) ?? 0;
  await beGuest(page);
  await page.goto("/gallery");
  await expect(page.getByText("Bare walls")).toBeVisible();
  const notices = page.getByRole("region", { name: "Messages" });
  // It goes by itself, and letting go of a folder may take its time.
  const told = expect(notices.getByText(/^\d+ pictures go in; \d+ other files were left out$/)).toHaveText(
    `${fileCount - of("left out")} pictures go in; ${of("left out")} other files were left out`,
  );
  await dropFiles(page.getByRole("heading", { name: "Gallery" }), [folder]);
  await told;
  // Nothing waits any more: what failed is all that is left.
  const failed = of("upload_unsupported") + of("upload_bad_shape") + of("upload_too_many_pixels");
  await page
    .getByRole("button", { name: `Open the jobs: ${failed} uploads failed` })
    .click({ timeout: 120_000 });
  const tray = page.getByRole("region", { name: "Jobs" });
  // The rows first: before its code is there the tray shows nothing at all.
  await expect(tray.getByRole("button", { name: /^Dismiss (?!all$)/ })).toHaveCount(failed);
  await expect(tray.getByRole("progressbar")).toHaveCount(0, { timeout: 120_000 });
  await expect(tray.getByText(/The file is empty: it was not copied or downloaded to its end/)).toBeVisible();

  // All copies are one picture.
  const kept = of("stored") + 1;
  await tray.getByRole("button", { name: "Scale it down: poster 7.png" }).click();
  await expect(tray.getByText("poster 7.png")).toHaveCount(0, { timeout: 120_000 });
  const answer = await page.request.get("/api/v1/images?limit=100");
  const { items }: { items: unknown[] } = await answer.json();
  expect(items).toHaveLength(kept + 1);
  await rm(folder, { recursive: true });
});

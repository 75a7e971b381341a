import { readFile } from "node:fs/promises";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

test.describe("a file that is no picture", () => {
  test.use({ expectedError: /status of 415.*\/api\/v1\/uploads/ });

  test("A5 A15 @bucket text with the name of a picture gets one clear sentence and leaves nothing behind", async ({
    page,
  }) => {
    await beGuest(page);
    await page.goto("/gallery");
    const buffer = Buffer.from("This is a shopping list, not a picture.\n");
    const upload = page.getByRole("button", { name: "Upload", exact: true });
    await chooseFiles(upload.first(), { name: "list.png", mimeType: "image/png", buffer });
    await page.getByRole("button", { name: "Open the jobs: 1 upload failed" }).click();
    const tray = page.getByRole("region", { name: "Jobs" });
    await expect(
      tray.getByText(
        "This is not a picture we can read. Only JPEG, PNG, WebP, AVIF, HEIC, GIF and TIFF pictures can be uploaded.",
      ),
    ).toBeVisible();
    await tray.getByRole("button", { name: "Dismiss list.png" }).click();
    await page.reload();
    await expect(page.getByText("Bare walls")).toBeVisible();
  });
});

test.describe("a folder with all that cameras and systems put there", () => {
  test.use({ expectedError: /status of 415.*\/api\/v1\/uploads/ });

  test("A15 @all its pictures go in by one choice; what is none is counted, and what failed is said once", async ({
    page,
  }) => {
    await beGuest(page);
    await page.goto("/gallery");
    const rocket = await readFile(samplePath("rocket.jpg"));
    const named = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
    const pictures = Array.from({ length: 9 }, (_, at) =>
      // Bytes behind the picture's end make each another file.
      named(`IMG_${at}.${at % 2 ? "JPG" : "png"}`, "image/jpeg", Buffer.concat([rocket, Buffer.from([at])])),
    );
    const broken = Array.from({ length: 5 }, (_, at) =>
      named(`list${at}.png`, "image/png", Buffer.from(`list ${at}`)),
    );
    const others = [
      named(".DS_Store", "", Buffer.from("Bud1")),
      named("IMG_1.MOV", "video/quicktime", Buffer.from("film")),
    ];
    const notices = page.getByRole("region", { name: "Messages" });
    // It goes by itself, and choosing so many files may take its time.
    const told = expect(notices.getByText("14 pictures go in; 2 other files were left out")).toBeVisible();
    await chooseFiles(page.getByRole("button", { name: "Upload", exact: true }).first(), [
      ...pictures,
      ...broken,
      ...others,
    ]);
    await told;
    await page.getByRole("button", { name: "Open the jobs: 5 uploads failed" }).click({ timeout: 120_000 });
    const tray = page.getByRole("region", { name: "Jobs" });
    await expect(tray.getByText("5 files could not be uploaded")).toBeVisible();
    await expect(tray.getByText(/^This is not a picture we can read/)).toHaveCount(1);
    await tray.getByRole("button", { name: "Dismiss all" }).click();
    await expect(tray.getByText("Nothing is running.")).toBeVisible();
    await expect(page.getByRole("group", { name: "Pictures", exact: true }).getByRole("button")).toHaveCount(
      9,
    );
  });
});

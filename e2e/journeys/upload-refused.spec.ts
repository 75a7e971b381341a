import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { expect, test } from "../test.ts";

test.describe("a file that is no picture", () => {
  test.use({ expectedError: /status of 415.*\/api\/v1\/uploads/ });

  test("A5 A15 text with the name of a picture gets one clear sentence and leaves nothing behind", async ({
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

test("A15 the 21st file is refused before a byte is read", async ({ page }) => {
  await beGuest(page);
  await page.goto("/gallery");
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/uploads")) sent.push(request.url());
  });
  const files = Array.from({ length: 21 }, (_, index) => ({
    name: `${index}.png`,
    mimeType: "image/png",
    buffer: Buffer.from([index]),
  }));
  await chooseFiles(page.getByRole("button", { name: "Upload", exact: true }).first(), files);
  const notices = page.getByRole("region", { name: "Notifications" });
  await expect(notices.getByText("At most 20 pictures at once")).toBeVisible();
  await expect(notices.getByText(/You chose 21\. Nothing was uploaded/)).toBeVisible();
  expect(sent).toEqual([]);
  await expect(page.getByText("Bare walls")).toBeVisible();
});

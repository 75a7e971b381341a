import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { pastePicture } from "../steps/paste-picture.ts";
import { samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

test("A15 @all pictures come by picker, drop and paste; the same bytes are stored once", async ({
  page,
  baseURL,
}, { project }) => {
  const sentTo = new Set<string>();
  page.on("request", (request) => {
    if (request.method() === "PUT") sentTo.add(new URL(request.url()).origin);
  });
  await beGuest(page);
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const tiles = sheet.getByRole("button");
  const upload = page.getByRole("button", { name: "Upload", exact: true });
  await expect(page.getByText("Bare walls")).toBeVisible();

  await chooseFiles(upload.first(), [samplePath("rocket.jpg"), samplePath("chelsea.png")]);
  await expect(tiles).toHaveCount(2);

  await dropFiles(page.getByRole("heading", { name: "Gallery" }), [samplePath("coffee.png")]);
  await expect(tiles).toHaveCount(3);

  await pastePicture(page, "/samples/astronaut.png");
  await expect(tiles).toHaveCount(4);

  // Where a bucket is set, the files went straight into it.
  expect([...sentTo].map((origin) => origin === baseURL)).toEqual([project.name === "desktop"]);

  const answered = page.waitForResponse("**/api/v1/uploads/direct");
  await chooseFiles(upload, samplePath("rocket.jpg"));
  // The same bytes are there, so nothing is sent.
  expect((await answered).status()).toBe(200);
  await page.reload();
  await expect(sheet.getByRole("button", { name: "rocket", exact: true })).toHaveCount(1);
  await expect(tiles).toHaveCount(4);
});

test("a sample says that it is on its way, and is taken once", async ({ page }) => {
  await page.goto("/");
  const held = Promise.withResolvers<void>();
  let requests = 0;
  await page.route("**/samples/garment_hoodie.jpg", async (route) => {
    requests += 1;
    await held.promise;
    await route.continue();
  });
  const sample = page.getByRole("button", { name: "Use the sample: hoodie" });
  await sample.dblclick();
  await expect(sample).toHaveAttribute("aria-busy", "true");
  await expect(page.getByRole("button", { name: "Use the sample: dress" })).toBeDisabled();
  held.resolve();
  await expect(page.getByRole("region", { name: "Garment" }).getByRole("img")).toBeVisible();
  expect(requests).toBe(1);
});

import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sameSite } from "../steps/same-site.ts";
import { samplePath } from "../steps/samples.ts";
import { slowUploads } from "../steps/slow-uploads.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

/** Puts a picture into the wardrobe without the screen. */
async function keep(page: Page, item: Readonly<Record<string, unknown>>): Promise<void> {
  const data = { json: item };
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
  const told = expect(page.getByText("In your wardrobe")).toBeVisible();
  await page.getByRole("menuitem", { name: "Add to the wardrobe as a garment" }).click();
  await told;

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
  await keepMessage(page);
  await expect(page.getByRole("heading", { name: "Nothing to wear yet" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Garments" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(wear).toBeVisible();

  // An upload that began before does not take its place.
  const links = page.getByRole("navigation").first();
  await links.getByRole("link", { name: "Studio", exact: true }).click();
  const end = await slowUploads(page, 5_000);
  await chooseFiles(page.getByRole("button", { name: "Choose a garment" }), samplePath("garment_hoodie.jpg"));
  const garment = page.getByRole("region", { name: "Garment" });
  await expect(garment.getByRole("button", { name: "Cancel" })).toBeVisible();
  await links.getByRole("link", { name: "Wardrobe", exact: true }).click();
  await wear.click();
  await expect(page).toHaveURL(/\/$/);
  await expect(garment.getByRole("button", { name: "Cancel" })).toHaveCount(0);
  await end();
  await expect(page.getByRole("button", { name: "Use Striped tee" })).toHaveAttribute("aria-pressed", "true");
});

test("C1 @all shoes are kept and say why they are not worn; the studio offers only what is", async ({
  page,
}) => {
  await beGuest(page);
  const tee = await uploadSample(page, "garment_tee.jpg");
  const shoes = await uploadSample(page, "garment_hoodie.jpg");
  await keep(page, { what: "garment", imageId: tee, name: "Tee", category: "top" });
  await keep(page, { what: "garment", imageId: shoes, name: "Boots", category: "shoes" });
  await page.goto("/wardrobe");
  const boots = page.getByRole("listitem").filter({ hasText: "Boots" });
  await expect(boots.getByText("No engine puts this on yet")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Wear / })).toHaveCount(1);
  expect(await findBarriers(page)).toEqual([]);

  await page.goto("/");
  await expect(page.getByRole("button", { name: "Use Tee" })).toBeVisible();
  await expect(page.getByText("No engine puts on shoes or accessories yet")).toBeVisible();
  await expect(page.getByRole("button", { name: "Use Boots" })).toHaveCount(0);
});

test("@all C1 S3 a consent that was stated in the studio is withdrawn in the wardrobe, and asked for again", async ({
  page,
}) => {
  await beGuest(page);
  const person = await uploadSample(page, "astronaut.png");
  await keep(page, { what: "person", imageId: person, name: "Eileen" });
  await page.goto("/wardrobe");
  await expect(page.getByText("Consent not stated")).toBeVisible();
  await page.getByRole("button", { name: "Wear Eileen" }).click();
  const statement = page.getByRole("checkbox", { name: /shows an adult who agrees/ });
  // It is shown as checked before it is stored.
  const stored = page.waitForResponse(/wardrobe\.stateConsent/);
  await statement.click();
  await stored;
  await expect(statement).toBeChecked();
  await page.reload();
  await expect(statement).toBeChecked();

  await page.goto("/wardrobe");
  await expect(page.getByText("Agrees to outfits")).toBeVisible();
  await page.getByRole("button", { name: "Change Eileen" }).click();
  const dialog = page.getByRole("dialog", { name: "Person" });
  await dialog.getByRole("button", { name: "Withdraw the statement" }).click();
  await expect(dialog.getByRole("checkbox", { name: /shows an adult who agrees/ })).not.toBeChecked();
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("Consent not stated")).toBeVisible();
  await page.goto("/");
  await expect(statement).not.toBeChecked();
});

test("@all C1 a garment that could not be cut out says why", async ({ page }) => {
  await beGuest(page);
  const imageId = await uploadSample(page, "garment_tee.jpg");
  await page.route("**/api/trpc/wardrobe.list**", async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    const failure = `"cutOutFailure":{"jobId":"${imageId}","code":"internal"}`;
    await route.fulfill({ response: answer, body: text.replace('"cutOutFailure":null', failure) });
  });
  await keep(page, { what: "garment", imageId, name: "Tee" });
  await page.goto("/wardrobe");
  await expect(page.getByText(/^Not cut out: /)).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again to cut Tee out" })).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
});

test("C1 @all who deletes a picture of the wardrobe is told so, and undo brings it back there", async ({
  page,
}) => {
  await beGuest(page);
  const imageId = await uploadSample(page, "garment_tee.jpg");
  await keep(page, { what: "garment", imageId, name: "Tee" });
  await page.goto(`/gallery?image=${imageId}`);
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Delete/ })
    .click();
  await keepMessage(page);
  await expect(page.getByText("It was in your wardrobe, too")).toBeVisible();
  const restored = page.waitForResponse(/images\.restore/);
  await page.getByRole("button", { name: "Undo" }).click();
  await restored;
  await page.goto("/wardrobe");
  await expect(page.getByRole("button", { name: "Wear Tee" })).toBeVisible();
});

test.describe(() => {
  test.use({ expectedError: /422/ });
  test("@all C1 an address of this network is refused in words, and the dialog stays", async ({ page }) => {
    await beGuest(page);
    await page.goto("/wardrobe");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("menuitem", { name: "By the address of a picture" }).click();
    const dialog = page.getByRole("dialog", { name: "By the address of a picture" });
    await dialog.getByLabel("Address of the picture").fill("https://10.0.0.1/coat.png");
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add it" }).click();
    await expect(dialog.getByText(/This address is not allowed/)).toBeVisible();
  });
});

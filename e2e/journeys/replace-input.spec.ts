import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { samplePath } from "../steps/samples.ts";
import { slowUploads } from "../steps/slow-uploads.ts";
import { expect, test } from "../test.ts";

test("A5 A15 nothing runs with a picture that is being replaced, and it comes back when the upload is cancelled", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/");
  const person = page.getByRole("region", { name: "Person" });
  const garment = page.getByRole("region", { name: "Garment" });
  await chooseFiles(page.getByRole("button", { name: "Choose a photo" }), samplePath("astronaut.png"));
  await expect(person.getByRole("img")).toBeVisible();
  await chooseFiles(page.getByRole("button", { name: "Choose a garment" }), samplePath("garment_hoodie.jpg"));
  await expect(garment.getByRole("img")).toBeVisible();
  const run = page.getByRole("button", { name: "Change outfit" });
  await expect(run).toBeEnabled();
  const end = await slowUploads(page, 5_000);
  await dropFiles(person.getByRole("img"), [samplePath("chelsea.png")]);
  await expect(person.getByRole("button", { name: "Cancel" })).toBeVisible();
  await expect(run).toBeDisabled();
  await person.getByRole("button", { name: "Cancel" }).click();
  await expect(person.getByRole("img")).toBeVisible();
  await expect(run).toBeEnabled();
  await end();
});

import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A15 pictures are found in one line: operators and values are offered, chips mean the same, and what is wrong is named", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const picture = (name: string) => sheet.getByRole("button", { name, exact: true });
  await expect(picture("rocket")).toBeVisible();

  await page.keyboard.press("/");
  const line = page.getByRole("combobox", { name: "Search the pictures" });
  await expect(line).toBeFocused();
  await page.keyboard.type("i");
  await page.getByRole("option", { name: /^is:/ }).click();
  await expect(line).toHaveValue("is:");
  await expect(page.getByRole("option")).toHaveCount(5);
  await page.keyboard.type("up");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(line).toHaveValue("is:upload ");
  const chips = page.getByRole("group", { name: "Filter the pictures" });
  await expect(chips.getByRole("button", { name: "Uploads" })).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.type("coff -rocket");
  await expect(picture("rocket")).toHaveCount(0);
  await expect(picture("coffee")).toBeVisible();
  await expect(page).toHaveURL(/search=is%3Aupload\+coff\+-rocket$/);
  expect(await findBarriers(page)).toEqual([]);

  await page.keyboard.type(" rating:good");
  await expect(page.getByText("“rating:good” is left out")).toBeVisible();
  await expect(picture("coffee")).toBeVisible();
  await page.getByRole("button", { name: "Clear the search" }).click();
  await expect(page.getByRole("option")).toHaveCount(10);
  await page.keyboard.press("Escape");
  await expect(picture("rocket")).toBeVisible();
  await chips.getByRole("button", { name: "Results" }).click();
  await expect(line).toHaveValue("is:result");
  await expect(page.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await page.getByRole("link", { name: "Show all pictures" }).click();
  await expect(line).toHaveValue("");
  await expect(picture("coffee")).toBeVisible();
});

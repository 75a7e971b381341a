import { beGuest } from "../steps/be-guest.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all pictures are rated by key and tagged in the viewer and as a selection, with undo, and found by both", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const rocket = sheet.getByRole("button", { name: "rocket", exact: true });
  const coffee = sheet.getByRole("button", { name: "coffee", exact: true });

  await rocket.focus();
  await page.keyboard.press("4");
  await keepMessage(page);
  await expect(sheet.getByRole("img", { name: "4 stars" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(sheet.getByRole("img", { name: "4 stars" })).toHaveCount(0);

  await expect(rocket).toBeFocused();
  await page.keyboard.press("Enter");
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  await page.keyboard.press("5");
  await page.keyboard.press("i");
  await expect(viewer.getByRole("button", { name: "5 stars" })).toHaveAttribute("aria-pressed", "true");
  await viewer.getByRole("combobox", { name: "Add a tag" }).fill("Night sky");
  await page.keyboard.press("Enter");
  const tags = viewer.getByRole("list", { name: "Tags" });
  await expect(tags.getByText("Night sky")).toBeVisible();
  await viewer.getByRole("button", { name: "Close" }).click();

  await sheet.getByRole("checkbox", { name: "Select coffee" }).click();
  await sheet.getByRole("checkbox", { name: "Select rocket" }).click();
  await page
    .getByRole("toolbar", { name: "Selection" })
    .getByRole("button", { name: "Rate and tag" })
    .click();
  const dialog = page.getByRole("dialog", { name: "Rate and tag 2 pictures" });
  await dialog.getByRole("combobox", { name: "Add a tag" }).fill("ni");
  await page.getByRole("option", { name: "Night sky" }).click();
  await expect(page.getByText("Tagged “Night sky”", { exact: true })).toBeVisible();
  const rated = Promise.withResolvers<void>();
  await page.route(/images\.rate/, async (route) => {
    await rated.promise;
    await route.continue();
  });
  await dialog.getByRole("button", { name: "3 stars" }).click();
  // It closes the dialog and nothing else, also from a button that waits for its answer.
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("toolbar", { name: "Selection" })).toBeVisible();
  rated.resolve();
  await expect(sheet.getByRole("img", { name: "3 stars" })).toHaveCount(2);

  const search = page.getByRole("combobox", { name: "Search the pictures" });
  await search.fill("tag:");
  // Read without its value: the list and the selection stay.
  await expect(page).toHaveURL(/search=tag%3A$/);
  await page.getByRole("option", { name: /Night sky/ }).click();
  await expect(
    sheet.getByRole("button", { name: /rocket|coffee/ }).and(page.locator("[data-tile]")),
  ).toHaveCount(2);
  await page.getByRole("button", { name: "Clear the selection" }).click();
  await coffee.focus();
  await page.keyboard.press("0");
  await expect(sheet.getByRole("img", { name: "3 stars" })).toHaveCount(1);
  await search.fill("rating:>=3");
  // By what stands in the page: the open suggestions hide the rest of it from roles.
  await expect(page.locator("[data-tile][aria-label=coffee]")).toHaveCount(0);
  await expect(page.locator("[data-tile][aria-label=rocket]")).toBeVisible();

  await page.goto("/settings");
  const allTags = page.getByRole("list", { name: "Tags" });
  await allTags.getByRole("button", { name: "Rename the tag Night sky" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Stars");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await expect(allTags.getByRole("link", { name: "Stars" })).toBeVisible();
  await allTags.getByRole("link", { name: "Stars" }).click();
  await expect(page.locator("[data-tile]")).toHaveCount(2);
  await page.goto("/settings");
  await allTags.getByRole("button", { name: "Remove the tag Stars" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await expect(allTags.getByRole("link", { name: "Stars" })).toHaveCount(0);
});

import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { holdCode } from "../steps/hold-code.ts";
import { keepFirstKeys } from "../steps/keep-first-keys.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const openerOf = (page: Page) => page.getByRole("navigation").getByRole("button", { name: "Search" });

test("by Ctrl+K and keys alone one goes to a page, makes a board, finds a picture and does what was done before", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  const palette = page.getByRole("dialog", { name: "Go to, search and do" });
  const line = palette.getByRole("combobox", { name: "Page, board, picture, job or action" });
  const marked = palette.getByRole("option", { selected: true });

  const opener = openerOf(page);
  await opener.focus();
  await page.keyboard.press("Enter");
  await expect(line).toBeFocused();
  await expect(palette.getByRole("group", { name: "Pages" })).toBeVisible();
  await expect(palette.getByRole("option", { name: /^Admin/ })).toHaveCount(0);
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(palette).toHaveCount(0);
  await expect(opener).toBeFocused();

  await page.keyboard.press("Control+K");
  await expect(marked).toHaveText(/^Studio/);
  await page.keyboard.press("ArrowDown");
  await expect(marked).toHaveText(/^Wardrobe/);
  await page.keyboard.type("gal");
  await expect(marked).toHaveText(/^Gallery/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/gallery$/);
  await expect(palette).toHaveCount(0);

  await page.keyboard.press("Control+K");
  await expect(palette.getByRole("group", { name: "Recent" }).getByRole("option")).toHaveText([/^Gallery/]);
  await page.keyboard.type("new bo");
  await expect(marked).toHaveText("New board");
  await page.keyboard.press("Enter");
  await expect(palette.getByRole("textbox", { name: "Name of the new board" })).toBeFocused();
  await page.keyboard.type("Night sky");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "An empty board" })).toBeVisible();

  // In a text field, too.
  await page.getByRole("combobox", { name: "Search the pictures" }).focus();
  await page.keyboard.press("Control+K");
  await page.keyboard.type("rocket");
  await expect(palette.getByRole("group", { name: "Pictures" }).getByRole("option")).toHaveText([
    "rocket",
    "Search the gallery for “rocket”",
  ]);
  await expect(marked).toHaveText("rocket");
  await page.keyboard.press("Enter");
  await expect(
    page.getByRole("dialog", { name: "Picture" }).getByRole("img", { name: "rocket" }),
  ).toBeVisible();

  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  await page.keyboard.press("Control+K");
  const recent = palette.getByRole("group", { name: "Recent" }).getByRole("option");
  await expect(recent).toHaveText(["rocket", "New board", /^Gallery/]);
  await page.keyboard.type("sky");
  await expect(marked).toHaveText(/^Night sky/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/board%3A%22Night/);

  await page.keyboard.press("Control+K");
  await page.keyboard.type("tags");
  await expect(marked).toHaveText("Tags: rename, join, remove");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/settings#tags$/);

  await page.keyboard.press("Control+K");
  await page.keyboard.type("shortcuts");
  await expect(marked).toHaveText(/^Keyboard shortcuts/);
  await page.keyboard.press("Enter");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(sheet.getByText("Go to, search and do")).toBeVisible();
  // Another dialog is not covered.
  await page.keyboard.press("Control+K");
  await expect(palette).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(sheet).toHaveCount(0);

  await page.keyboard.press("Control+K");
  await page.keyboard.type("theme");
  await expect(marked).toHaveText("Dark appearance");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("@all what is typed right after Ctrl+K, before the palette is loaded, stands in its line", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  const letGo = await holdCode(page);
  await page.keyboard.press("Control+K");
  await page.keyboard.type("thenn");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  letGo();
  const palette = page.getByRole("dialog", { name: "Go to, search and do" });
  const line = palette.getByRole("combobox", { name: "Page, board, picture, job or action" });
  await expect(line).toHaveValue("the");
  await page.keyboard.type("me");
  await expect(line).toHaveValue("theme");
  await expect(palette.getByRole("option", { selected: true })).toHaveText("Dark appearance");

  await page.keyboard.press("Escape");
  await expect(palette).toHaveCount(0);
  // Keys so quick that the page did not render between them, and a focus that leaves the line and comes back.
  await page.evaluate(() => {
    const leave = ({ target }: FocusEvent) => {
      if (!(target instanceof HTMLElement) || !target.matches("[cmdk-input]")) return;
      window.removeEventListener("focusin", leave, { capture: true });
      target.blur();
      target.focus();
    };
    window.addEventListener("focusin", leave, { capture: true });
    for (const key of ["k", "t", "h", "e"]) {
      const press = { key, ctrlKey: key === "k", bubbles: true, cancelable: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", press));
    }
  });
  await expect(line).toHaveValue("the");

  await page.keyboard.press("Escape");
  await expect(palette).toHaveCount(0);
  await page.evaluate(() => {
    for (const key of ["k", "ArrowDown", "Enter"]) {
      const press = { key, ctrlKey: key === "k", bubbles: true, cancelable: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", press));
    }
  });
  await expect(page).toHaveURL(/\/wardrobe$/);

  await page.goto("/jobs");
  await expect(page.getByRole("heading", { name: "Jobs", level: 1 })).toBeVisible();
  const letGoAgain = await holdCode(page);
  await page.keyboard.press("Control+K");
  await page.keyboard.type("gallery");
  await page.keyboard.press("Enter");
  letGoAgain();
  await expect(page).toHaveURL(/\/gallery$/);

  await test.step("nor is it lost before the page itself is loaded", async () => {
    await keepFirstKeys(page);
    const letAllGo = await holdCode(page);
    await page.goto("/jobs", { waitUntil: "commit" });
    await expect(openerOf(page)).toBeVisible();
    await page.keyboard.press("Control+K");
    await page.keyboard.type("gallerx");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("y");
    await page.keyboard.press("Enter");
    letAllGo();
    await expect(page).toHaveURL(/\/gallery$/);
  });
});

import type { Locator } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { beUser } from "../steps/be-user.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sameSite } from "../steps/same-site.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all boards are put in order by keys and by a drag, and stay so", async ({ page }) => {
  await page.setViewportSize({ width: 1_440, height: 900 });
  await beGuest(page);
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const strip = page.getByRole("group", { name: "Boards" });
  for (const name of ["Autumn", "Beach", "Cats"]) {
    await strip.getByRole("button", { name: "New board" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Make board" }).click();
    await expect(strip.getByRole("button", { name: new RegExp(`^${name}`) })).toBeVisible();
  }
  await page.goto("/gallery");
  const own = strip.locator("[data-board] > button:first-child");
  const names = () => own.allTextContents().then((texts) => texts.map((text) => text.replace(/\d+/, "")));
  await expect.poll(names).toEqual(["Autumn", "Beach", "Cats"]);
  const cats = strip.getByRole("button", { name: /^Cats/ });
  await cats.focus();
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(names).toEqual(["Autumn", "Cats", "Beach"]);
  await expect(cats).toBeFocused();
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(names).toEqual(["Cats", "Autumn", "Beach"]);
  const stored = page.waitForResponse(/boards\.order/);
  const middleOf = (chip: Locator) =>
    chip.evaluate((element) => {
      const { left, top, height } = element.getBoundingClientRect();
      return { x: left + 40, y: top + height / 2 };
    });
  const [from, to] = [await middleOf(cats), await middleOf(own.last())];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.move(to.x, to.y + 12, { steps: 4 });
  await page.mouse.up();
  await expect.poll(names).toEqual(["Autumn", "Beach", "Cats"]);
  // The click that ends a drag chose nothing.
  await expect(page).toHaveURL(/\/gallery$/);
  await stored;
  await cats.focus();
  const moved = page.waitForResponse(/boards\.order/);
  await page.keyboard.press("Alt+ArrowUp");
  await moved;
  await page.reload();
  await expect.poll(names).toEqual(["Autumn", "Cats", "Beach"]);
});

test("@all a board has its name above its pictures and on its tab, by its address and with Back and Forward", async ({
  page,
  context,
}) => {
  await beGuest(page);
  const imageIds = [await uploadSample(page, "rocket.jpg")];
  await uploadSample(page, "coffee.png");
  const data = { name: "Night sky", imageIds };
  const made = await page.request.post("/api/v1/boards", { data, ...sameSite() });
  expect(made.status(), await made.text()).toBe(201);
  await page.goto("/gallery");
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toHaveText("Gallery");
  await page
    .getByRole("group", { name: "Boards" })
    .getByRole("button", { name: /^Night sky/ })
    .click();
  await expect(heading).toHaveText("Night sky");
  await expect(page).toHaveTitle("Night sky · Atelier");
  await expect(page.getByText("1 picture", { exact: true })).toBeVisible();
  await page.goBack();
  await expect(heading).toHaveText("Gallery");
  await expect(page).toHaveTitle("Gallery · Atelier");
  await page.goForward();
  await expect(heading).toHaveText("Night sky");

  const tab = await context.newPage();
  await tab.goto(`${page.url()}+order:rated`);
  await expect(tab.getByRole("heading", { level: 1 })).toHaveText("Night sky");
  await expect(tab).toHaveTitle("Night sky · Atelier");
  await expect(tab.locator("[data-tile]")).toHaveCount(1);
  await tab.getByRole("link", { name: "Jobs", exact: true }).click();
  await expect(tab).toHaveTitle("Jobs · Atelier");
});

test("@all a click on a board before the code of drags is there drags nothing later", async ({ page }) => {
  await page.setViewportSize({ width: 1_440, height: 900 });
  await beGuest(page);
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const strip = page.getByRole("group", { name: "Boards" });
  for (const name of ["Autumn", "Beach"]) {
    await strip.getByRole("button", { name: "New board" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Make board" }).click();
    await expect(strip.getByRole("button", { name: new RegExp(`^${name}`) })).toBeVisible();
  }
  await page.goto("/gallery");
  const [autumn, beach] = ["Autumn", "Beach"].map((name) =>
    strip.getByRole("button", { name: new RegExp(`^${name}`) }),
  );
  let pass: () => void = () => {};
  const isFree = new Promise<void>((resolve) => (pass = resolve));
  let [asked, answered] = [0, 0];
  await page.route("**/_next/static/chunks/**", async (route) => {
    asked += 1;
    await isFree;
    await route.fulfill({ response: await route.fetch() });
    answered += 1;
  });
  await autumn?.click();
  await expect.poll(() => asked).toBeGreaterThan(0);
  pass();
  await expect.poll(() => asked - answered).toBe(0);
  await page.evaluate(() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))));
  await beach?.hover();
  await expect(strip.locator(".opacity-45")).toHaveCount(0);
  await beach?.click();
  await expect(page).toHaveURL(/Beach/);
});

test("a selection goes on a new board, which is chosen, renamed, emptied and removed with undo, and a search is kept", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const tile = (name: string) => page.locator(`[data-tile][aria-label=${name}]`);
  const strip = page.getByRole("group", { name: "Boards" });

  await page.getByRole("checkbox", { name: "Select rocket" }).click();
  await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Board" }).click();
  const dialog = page.getByRole("dialog", { name: "Boards of the picture" });
  await dialog.getByRole("textbox", { name: "Name of a new board" }).fill("Night sky");
  await dialog.getByRole("button", { name: "Make board" }).click();
  await expect(dialog.getByRole("checkbox", { name: /Night sky/ })).toBeChecked();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Clear the selection" }).click();

  await strip.getByRole("button", { name: /^Night sky/ }).click();
  await expect(page).toHaveURL(/board%3A%22Night/);
  await expect(tile("coffee")).toHaveCount(0);
  await expect(tile("rocket")).toBeVisible();
  await page.goBack();
  await expect(tile("coffee")).toBeVisible();
  await page.goForward();
  await expect(tile("coffee")).toHaveCount(0);
  await strip.getByRole("button", { name: "More for Night sky" }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Stars");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await expect(page).toHaveURL(/board%3AStars/);

  await tile("rocket").click();
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await viewer.getByRole("button", { name: "Boards" }).click();
  await page.getByRole("checkbox", { name: /Stars/ }).click();
  await expect(page.getByText("Taken off the board “Stars”")).toBeVisible();
  await expect(page.getByRole("checkbox", { name: /Stars/ })).not.toBeChecked();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("checkbox", { name: /Stars/ })).toHaveCount(0);
  await viewer.getByRole("button", { name: "Close" }).click();
  await expect(page.getByRole("heading", { name: "An empty board" })).toBeVisible();

  // Without the messages of before, which offer Undo, too.
  await page.reload();
  await strip.getByRole("button", { name: "More for Stars" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  // While a menu closes, the page behind it has no roles: only the address says that the board is gone.
  await expect(page).toHaveURL(/\/gallery$/);
  await expect(page.getByRole("menu")).toHaveCount(0);
  await keepMessage(page);
  await expect(strip.getByRole("button", { name: "All pictures" })).toHaveAttribute("aria-pressed", "true");
  await expect(strip.getByRole("button", { name: /^Stars/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(strip.getByRole("button", { name: /^Stars/ })).toBeVisible();

  await page.goto("/gallery?search=cof");
  await page.getByRole("button", { name: "Save this search" }).click();
  await page.getByRole("textbox", { name: "Name of the search" }).fill("Cups");
  await page.getByRole("button", { name: "Save search" }).click();
  await strip.getByRole("button", { name: "All pictures" }).click();
  await expect(tile("rocket")).toBeVisible();
  await strip.getByRole("button", { name: "Cups" }).click();
  await expect(tile("rocket")).toHaveCount(0);
  await expect(page.getByRole("combobox", { name: "Search the pictures" })).toHaveValue("cof");
});

test.describe("shared", () => {
  test.use({ expectedError: /status of (422|404).*boards\./ });
  test("S1 @all a board is shared with another account, which adds a picture and is shut out when the sharing ends", async ({
    page,
    browser,
  }) => {
    const context = await browser.newContext();
    const other = await context.newPage();
    const guest = await beUser(other);
    await uploadSample(other, "coffee.png");

    await beUser(page);
    await uploadSample(page, "rocket.jpg");
    await page.goto("/gallery");
    await page.getByRole("checkbox", { name: "Select rocket" }).click();
    await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Board" }).click();
    await page.getByRole("textbox", { name: "Name of a new board" }).fill("Together");
    await page.getByRole("button", { name: "Make board" }).click();
    await expect(page.getByRole("checkbox", { name: /Together/ })).toBeChecked();
    await page.goto("/gallery?search=board:Together");
    await page.getByRole("button", { name: "More for Together" }).click();
    await page.getByRole("menuitem", { name: "Share" }).click();
    const dialog = page.getByRole("dialog", { name: "Share Together" });
    await dialog.getByRole("textbox", { name: "E-mail of an account here" }).fill("nobody@example.org");
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    await expect(page.getByText("Nobody here has an account with this address")).toBeVisible();
    await dialog.getByRole("textbox", { name: "E-mail of an account here" }).fill(guest.email);
    await dialog.getByRole("combobox", { name: "They may" }).click();
    await page.getByRole("option", { name: "See and add" }).click();
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    await expect(dialog.getByRole("list", { name: "Shared with" })).toContainText(guest.email);
    await dialog.getByRole("link", { name: "Open with the pictures of all" }).click();
    const pictures = page.getByRole("list", { name: "Together" });
    await expect(pictures.getByRole("listitem")).toHaveCount(1);

    await other.goto("/gallery");
    await other.getByRole("checkbox", { name: "Select coffee" }).click();
    await other.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Board" }).click();
    await other.getByRole("checkbox", { name: /^Together by / }).click();
    await expect(other.getByRole("checkbox", { name: /^Together by / })).toBeChecked();
    await other.keyboard.press("Escape");
    await other.getByRole("link", { name: /^Together/ }).click();
    await expect(other.getByRole("heading", { name: "Together" })).toBeVisible();
    await expect(other.getByRole("list", { name: "Together" }).getByRole("listitem")).toHaveCount(2);
    await other.getByRole("button", { name: /^rocket, by / }).click();
    const shown = other.getByRole("img", { name: "rocket" });
    await expect.poll(() => shown.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(100);
    await expect(other.getByRole("button", { name: "Take off the board" })).toHaveCount(0);
    await other.keyboard.press("ArrowLeft");
    await expect(other.getByRole("img", { name: "coffee" })).toBeVisible();
    await expect(other.getByRole("button", { name: "Take off the board" })).toBeVisible();
    expect(await findBarriers(other)).toEqual([]);
    await other.keyboard.press("Escape");

    // Both pages are open, and neither is loaded again.
    await expect(pictures.getByRole("listitem")).toHaveCount(2);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByRole("button", { name: /^Stop sharing with / }).click();
    await expect(dialog.getByText("Nobody sees this board but you.")).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(pictures.getByRole("listitem")).toHaveCount(1);
    await expect(other.getByText("It does not exist, or it was deleted.")).toBeVisible();
    await context.close();
  });
});

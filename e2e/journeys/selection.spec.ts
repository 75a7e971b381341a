import { readFile } from "node:fs/promises";
import { readZip } from "@atelier/testing/zip";
import { beGuest } from "../steps/be-guest.ts";
import { beUser } from "../steps/be-user.ts";
import { fillMonths } from "../steps/fill-months.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A15 a picture that a filter hides is no longer selected, so Delete spares it", async ({ page }) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/gallery");
  const check = page.getByRole("checkbox", { name: /Select rocket/ });
  // Also where the system sets the colours, in which nothing is transparent.
  await expect(check.locator("svg")).toBeHidden();
  await check.click();
  await expect(check.locator("svg")).toBeVisible();
  await expect(page.getByText("1 selected")).toBeVisible();
  const filter = page.getByRole("group", { name: "Filter the pictures" });
  await filter.getByRole("button", { name: "Starred" }).click();
  await expect(page.getByText("1 selected")).toHaveCount(0);
  await page.keyboard.press("Delete");
  await filter.getByRole("button", { name: "Starred" }).click();
  await expect(page.getByRole("button", { name: "rocket", exact: true })).toBeVisible();
});

test("A15 while some are selected a click on a picture selects it too, Enter opens it; each picture that was looked at is closed for good", async ({
  page,
}) => {
  await beGuest(page);
  for (const sample of ["rocket.jpg", "astronaut.png"] as const) await uploadSample(page, sample, 96);
  await page.goto("/wardrobe");
  await page.goto("/gallery");
  const tile = (name: string) => page.getByRole("button", { name, exact: true });
  const viewer = page.getByRole("dialog", { name: "Picture" });
  const count = page.getByRole("toolbar", { name: "Selection" }).getByRole("status");
  for (const name of ["rocket", "astronaut"]) {
    await tile(name).dblclick();
    await expect(viewer.getByRole("img", { name })).toBeVisible();
    await viewer.getByRole("button", { name: "Close" }).dblclick();
    await expect(viewer).toHaveCount(0);
    await expect(page).toHaveURL(/\/gallery$/);
  }
  await page.getByRole("checkbox", { name: "Select rocket" }).click();
  await tile("astronaut").click();
  await expect(count).toHaveText("2 selected");
  await tile("rocket").click();
  await expect(count).toHaveText("1 selected");
  await tile("rocket").press("Enter");
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  await expect(count).toHaveText("1 selected");
  await page.goBack();
  await expect(page).toHaveURL(/\/wardrobe$/);
});

test("D1 @all what is selected is shared by one link, saved as a zip and processed as one batch; Delete in the dialog deletes nothing", async ({
  page,
}) => {
  await beUser(page);
  await uploadSample(page, "rocket.jpg", 96);
  await uploadSample(page, "astronaut.png", 96);
  await page.goto("/gallery");
  await page.getByRole("checkbox", { name: /Select rocket/ }).click();
  await page.getByRole("checkbox", { name: /Select astronaut/ }).click();
  const bar = page.getByRole("toolbar", { name: "Selection" });
  await bar.getByRole("button", { name: "Share" }).click();
  const dialog = page.getByRole("dialog", { name: "Share these pictures" });
  await dialog.getByRole("button", { name: "Create link" }).focus();
  await page.keyboard.press("Delete");
  await page.keyboard.press("Enter");
  await expect(dialog.getByText(/Anyone with this address can see it/)).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText("2 selected")).toBeVisible();

  const save = async () => {
    await bar.getByRole("button", { name: "Download" }).click();
    await page.getByRole("menuitem", { name: "Download", exact: true }).click();
  };
  const download = page.waitForEvent("download");
  await save();
  const zip = await download;
  expect(zip.suggestedFilename()).toBe("pictures.zip");
  expect([...readZip(await readFile(await zip.path())).keys()].toSorted()).toEqual([
    "astronaut.png",
    "pictures.json",
    "rocket.jpg",
  ]);

  // Refused without the session: the page does not leave for the words of that, and the selection stays.
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  const refused = page.waitForEvent("download");
  await save();
  expect(await (await refused).failure()).not.toBeNull();
  await page.context().addCookies(cookies);
  await expect(page.getByText("2 selected")).toBeVisible();

  await bar.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Upscale" }).click();
  await expect(page.getByRole("heading", { name: "Upscale: 2 pictures" })).toBeVisible();
  await expect(page.getByRole("main").getByRole("status")).toContainText("2 of 2 done");
});

test("@all A15 a rectangle from empty space selects what it touches, adds with Shift, and Escape takes it back; a picture is carried out as its file", async ({
  page,
}) => {
  await beGuest(page);
  for (const sample of ["rocket.jpg", "astronaut.png", "coffee.png"] as const)
    await uploadSample(page, sample);
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const boxOf = async (name: string) => {
    const box = await sheet.getByRole("button", { name, exact: true }).boundingBox();
    if (box === null) throw new Error(`${name} is not shown`);
    return box;
  };
  const [first, second] = [await boxOf("coffee"), await boxOf("astronaut")];
  const count = page.getByRole("toolbar", { name: "Selection" }).getByRole("status");
  const empty = { x: first.x - 12, y: first.y + first.height - 20 };
  // Its code comes after the pictures.
  await expect(async () => {
    await page.mouse.up();
    await page.mouse.move(empty.x, empty.y);
    await page.mouse.down();
    await page.mouse.move(first.x + 30, first.y + 40, { steps: 4 });
    await expect(page.locator("[data-rectangle]")).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await page.mouse.up();
  await expect(count).toHaveText("1 selected");
  await expect(page.locator("[data-rectangle]")).toHaveCount(0);

  await page.keyboard.down("Shift");
  await page.mouse.move(second.x + second.width - 30, first.y - 10);
  await page.mouse.down();
  await page.mouse.move(second.x + 30, first.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await expect(count).toHaveText("2 selected");

  await page.mouse.move(empty.x, empty.y);
  await page.mouse.down();
  await page.mouse.move(second.x + second.width + 60, first.y + 40, { steps: 4 });
  await expect(count).toHaveText("3 selected");
  await page.keyboard.press("Escape");
  await page.mouse.up();
  await expect(count).toHaveText("2 selected");

  const carried = await sheet.getByRole("button", { name: "rocket", exact: true }).evaluate((tile) => {
    const dataTransfer = new DataTransfer();
    tile.dispatchEvent(new DragEvent("dragstart", { dataTransfer, bubbles: true }));
    return ["DownloadURL", "text/uri-list"].map((type) => dataTransfer.getData(type));
  });
  expect(carried[0]).toMatch(/^image\/\w+:rocket\.\w+:http/);
  const file = await page.request.get(carried[1] ?? "");
  expect((await file.body()).byteLength).toBeGreaterThan(10_000);
});

test("@all the bar of a selection stays within the page at every width, in a language of long words", async ({
  page,
  context,
  baseURL,
}) => {
  await beGuest(page);
  for (const sample of ["rocket.jpg", "astronaut.png"] as const) await uploadSample(page, sample, 96);
  await context.addCookies([{ name: "atelier-locale", value: "de", url: baseURL ?? "" }]);
  await page.goto("/gallery");
  for (const name of [/rocket/, /astronaut/]) await page.getByRole("checkbox", { name }).click();
  const bar = page.getByRole("toolbar", { name: "Auswahl" });
  await expect(bar.getByRole("button", { name: "Vergleichen" })).toBeVisible();
  for (const width of [320, 375, 390, 640, 768, 1_024, 1_279, 1_280, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    await expect
      .poll(() => bar.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), {
        message: `${width} px`,
      })
      .toBe(0);
  }
});

test.describe("where each day has 24 hours", () => {
  test.use({ timezoneId: "UTC" });

  test("@all A15 the check beside a day chooses all of its pictures, also those that are not read yet, and takes them out again", async ({
    page,
  }) => {
    await beGuest(page);
    // One in six minutes: a day has more than a page of the list.
    await fillMonths(page, { months: 1, picturesEach: 7_300 });
    await page.goto("/gallery");
    // The day before yesterday: also when midnight comes now, all of its pictures are there.
    const name = await page.evaluate(() =>
      new Date(Date.now() - 2 * 86_400_000).toLocaleDateString("en", { month: "long", day: "numeric" }),
    );
    const check = page.getByRole("checkbox", {
      name: new RegExp(`^Select all of \\w+, ${name}(, \\d{4})?$`),
    });
    const count = page.getByRole("toolbar", { name: "Selection" }).getByRole("status");
    // Who scrolls on before what comes is read gets past all of it.
    const isReadAndDrawn = () =>
      page
        .locator("[data-tile]")
        .evaluateAll((tiles) => tiles.some((tile) => tile.getBoundingClientRect().bottom > innerHeight));
    const scrollOn = async () => {
      // The check is loaded once a pointer moves, which the page hears only with its code.
      await page.mouse.move(600, 600);
      await page.mouse.move(600, 601);
      if (await isReadAndDrawn()) await page.mouse.wheel(0, 400);
      return check.isVisible();
    };
    await expect.poll(scrollOn, { intervals: [60] }).toBe(true);
    await check.click();
    await expect(count).toHaveText("240 selected");
    await expect(check).toBeChecked();
    await page
      .getByRole("checkbox", { name: /^Select picture \d+$/, checked: true })
      .first()
      .click();
    await expect(count).toHaveText("239 selected");
    await expect(check).toHaveAttribute("aria-checked", "mixed");
    await check.press("Enter");
    await expect(count).toHaveText("240 selected");
    // Most of them are not read any more, or not yet.
    const undo = page.getByRole("button", { name: "Undo" });
    await page.keyboard.press("s");
    await expect(page.getByText("Starred: 240 pictures")).toBeVisible();
    const starButton = page.getByRole("toolbar", { name: "Selection" }).getByRole("button");
    await expect(starButton.filter({ hasText: "Remove the star" })).toBeVisible();
    await undo.click();
    await expect(starButton.filter({ hasText: /^Star$/ })).toBeVisible();
    await check.press("Enter");
    await expect(count).toHaveCount(0);
  });
});

test("@all A15 S stars the picture with the focus, or all that are selected, and takes the stars away again", async ({
  page,
}) => {
  await beGuest(page);
  for (const sample of ["rocket.jpg", "coffee.png"] as const) await uploadSample(page, sample, 96);
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const stars = sheet.getByRole("img", { name: "Starred" });
  await sheet.getByRole("button", { name: "rocket", exact: true }).focus();
  await page.keyboard.press("s");
  await expect(stars).toHaveCount(1);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("s");
  await expect(stars).toHaveCount(2);
  await page.keyboard.press("s");
  await expect(stars).toHaveCount(0);
});

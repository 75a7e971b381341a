import { readFile } from "node:fs/promises";
import type { Locator, Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

/** Presses a key as soon as the viewer has a picture, while it still comes in. */
const pressAtOnce = (page: Page, key: string) =>
  page.evaluate(
    (pressed) =>
      new Promise<void>((resolve) => {
        new MutationObserver((_changes, observer) => {
          if (document.querySelector("[data-viewer] img") === null) return;
          observer.disconnect();
          window.dispatchEvent(new KeyboardEvent("keydown", { key: pressed }));
          resolve();
        }).observe(document.body, { childList: true, subtree: true });
      }),
    key,
  );

/** Downloads the picture of the viewer; returns the name of the file. */
async function download(page: Page, viewer: Locator): Promise<string> {
  const started = page.waitForEvent("download");
  await viewer.getByRole("button", { name: "Download" }).press("Enter");
  await page.getByRole("menuitem", { name: "Download", exact: true }).press("Enter");
  const file = await started;
  expect((await readFile(await file.path())).byteLength).toBeGreaterThan(10_000);
  return file.suggestedFilename();
}

test("A15 S8 the gallery's viewer by keyboard: move, star, download, delete and take it back", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const portrait = await uploadSample(page, "astronaut.png");
  const job = await submitJob(page, { kind: "remove_background", inputs: { image: portrait } });
  await waitForResult(page, job);
  await page.goto("/gallery");

  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const result = sheet.getByRole("button", { name: /^Remove background, / });
  const rocket = sheet.getByRole("button", { name: "rocket", exact: true });
  await result.focus();
  await page.keyboard.press("Enter");
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: /^Remove background, / })).toBeVisible();
  await expect(viewer.getByText("Made with AI")).toBeAttached();

  await expect(viewer.getByRole("button", { name: "Close" })).toBeFocused();
  const stack = viewer.getByRole("list", { name: "Stack" }).getByRole("button");
  await expect(stack).toHaveCount(2);
  await page.keyboard.press("ArrowDown");
  await expect(viewer.getByRole("img", { name: "astronaut" })).toBeVisible();
  await expect(viewer.getByText("Made with AI")).toHaveCount(0);
  await page.keyboard.press("ArrowRight");
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  await page.keyboard.press("ArrowLeft");
  await expect(viewer.getByRole("img", { name: /^Remove background, / })).toBeVisible();

  expect(await download(page, viewer)).toMatch(/\.(png|webp)$/);

  await page.keyboard.press("s");
  await expect(viewer.getByRole("button", { name: "Remove the star" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  await expect(result).toBeFocused();
  await page
    .getByRole("group", { name: "Filter the pictures" })
    .getByRole("button", { name: "Starred" })
    .click();
  await expect(rocket).toHaveCount(0);
  await expect(result).toBeVisible();
  await page
    .getByRole("group", { name: "Filter the pictures" })
    .getByRole("button", { name: "Starred" })
    .click();
  await expect(rocket).toBeVisible();

  // What is deleted while it loads is answered with 404, of which the browser tells on the console.
  const thumbnail = rocket.locator("img");
  const isLoaded = () => thumbnail.evaluate((image: HTMLImageElement) => image.naturalWidth > 0);
  await expect.poll(isLoaded).toBe(true);
  await rocket.focus();
  await page.keyboard.press("Delete");
  await keepMessage(page);
  await expect(rocket).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rocket).toBeVisible();
  await page.reload();
  await expect.poll(isLoaded).toBe(true);

  // Ctrl and a digit is the browser's; one that is gone leaves the focus to its neighbour, which a held key spares.
  const ratings: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("images.rate")) ratings.push(request.url());
  });
  await rocket.focus();
  await page.keyboard.press("Control+5");
  const told = expect(page.getByText("Picture deleted")).toBeVisible();
  await page.keyboard.down("Delete");
  await told;
  await expect(result).toBeFocused();
  await page.keyboard.down("Delete");
  await page.keyboard.up("Delete");
  expect(ratings).toEqual([]);
  await page.reload();
  await expect(result).toBeVisible();
  await expect(rocket).toHaveCount(0);
});

test("@all A15 what is typed of a picture is kept when Back or a reload takes its field away", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  await sheet.getByRole("button", { name: "rocket", exact: true }).click();
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await viewer.getByRole("button", { name: "Information" }).click();
  await viewer.getByLabel("Title").fill("Lift-off");
  await page.goBack();
  await expect(viewer).toHaveCount(0);
  const renamed = sheet.getByRole("button", { name: "Lift-off", exact: true });
  await expect(renamed).toBeVisible();

  await renamed.click();
  const words = viewer.getByLabel("Description");
  await expect(viewer.getByRole("img", { name: "Lift-off" })).toBeVisible();
  await viewer.getByRole("button", { name: "Information" }).click();
  await words.fill("At the coast, before sunrise");
  await page.reload();
  await expect(viewer.getByRole("img", { name: "At the coast, before sunrise" })).toBeVisible();
});

test("@all A15 a picture whose removal is on its way does not come back with a list that is read meanwhile", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  await page.route(/images\.remove/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const rocket = sheet.getByRole("button", { name: "rocket", exact: true });
  await rocket.focus();
  await page.keyboard.press("Delete");
  await expect(rocket).toHaveCount(0);

  const viewer = page.getByRole("dialog", { name: "Picture" });
  const read = page.waitForResponse(/images\.list.*stacks%22/);
  const pressed = pressAtOnce(page, "s");
  await sheet.getByRole("button", { name: "coffee", exact: true }).click();
  await pressed;
  await expect(viewer.getByRole("img", { name: "coffee" })).toBeVisible();
  await expect(viewer.getByRole("button", { name: "Remove the star" })).toBeVisible();
  await (await read).finished();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowRight");
  await expect(viewer.getByRole("img", { name: "coffee" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  await expect(rocket).toHaveCount(0);
  goOn();
  await keepMessage(page);
  await expect(page.getByText("Picture deleted")).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rocket).toBeVisible();
});

test("@all A15 a read that began before a picture was starred and rated brings nothing of before back", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  const reads: Promise<void>[] = [];
  await page.route(/images\.get/, async (route) => {
    const response = await route.fetch();
    await held;
    reads.push(route.fulfill({ response }).catch(() => undefined));
  });
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const viewer = page.getByRole("dialog", { name: "Picture" });
  const begun = page.waitForRequest(/images\.get/);
  await sheet.getByRole("button", { name: "rocket", exact: true }).click();
  await begun;
  const told = expect(page.getByText("Rated with 4 stars", { exact: true })).toBeVisible();
  await page.keyboard.press("4");
  await told;
  await page.keyboard.press("s");
  await expect(viewer.getByRole("button", { name: "Remove the star" })).toBeVisible();
  goOn();
  await expect.poll(() => reads.length).toBeGreaterThan(0);
  await Promise.all(reads);
  await viewer.getByRole("button", { name: "Information" }).click();
  await expect(viewer.getByRole("button", { name: "4 stars" })).toHaveAttribute("aria-pressed", "true");
  await expect(viewer.getByRole("button", { name: "Remove the star" })).toBeVisible();
});

test("@all a selected stack stays selected when a version comes on top, and is deleted and restored as a whole", async ({
  page,
}) => {
  await beGuest(page);
  const portrait = await uploadSample(page, "astronaut.png");
  const cutOut = { kind: "remove_background", inputs: { image: portrait } } as const;
  await waitForResult(page, await submitJob(page, cutOut));
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  await sheet.getByRole("checkbox", { name: /stack of 2$/ }).click();
  const bar = page.getByRole("toolbar", { name: "Selection" });
  await expect(bar.getByRole("status")).toHaveText("1 selected, 2 pictures");
  await waitForResult(page, await submitJob(page, cutOut));
  await expect(sheet.getByRole("checkbox", { name: /stack of 3$/ })).toBeChecked();
  await expect(bar.getByRole("status")).toHaveText("1 selected, 3 pictures");
  await bar.getByRole("button", { name: "Delete 3 pictures" }).click();
  await keepMessage(page);
  await expect(sheet).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(sheet.getByRole("button", { name: /stack of 3$/ }).first()).toBeVisible();
});

test("@all a picture that is chosen in the viewer shows its stack, also beside a newer version, until Undo", async ({
  page,
}) => {
  await beGuest(page);
  const portrait = await uploadSample(page, "astronaut.png");
  const cutOut = { kind: "remove_background", inputs: { image: portrait } } as const;
  await waitForResult(page, await submitJob(page, cutOut));
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const tile = (name: string | RegExp) => sheet.getByRole("button", { name, exact: true });
  await tile(/^Remove background, .* stack of 2$/).click();
  const viewer = page.getByRole("dialog", { name: "Picture" });
  const top = viewer.getByRole("button", { name: "Show on top" });
  await expect(top).toHaveAttribute("aria-pressed", "false");
  await page.keyboard.press("ArrowDown");
  await expect(viewer.getByRole("img", { name: "astronaut" })).toBeVisible();
  await page.keyboard.press("t");
  await expect(top).toHaveAttribute("aria-pressed", "true");
  await expect(viewer.getByRole("button", { name: "astronaut, on top" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(tile("astronaut, stack of 2")).toBeFocused();

  await waitForResult(page, await submitJob(page, cutOut));
  await expect(tile("astronaut, stack of 3")).toBeVisible();
  await page.reload();
  await tile("astronaut, stack of 3").click();
  await expect(top).toHaveAttribute("aria-pressed", "true");
  await top.click();
  await expect(top).toHaveAttribute("aria-pressed", "false");
  await expect(page.getByText("The newest picture is on top of the stack again")).toBeVisible();
  await keepMessage(page);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(top).toHaveAttribute("aria-pressed", "true");
  await top.click();
  await expect(top).toHaveAttribute("aria-pressed", "false");
  await page.keyboard.press("Escape");
  await expect(tile(/^Remove background, .* stack of 3$/)).toBeVisible();
});

test("@all S8 a picture is downloaded, and a gallery that is opened again brings its newest pictures with the page", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "rocket.jpg");
  await page.goto("/gallery");
  const rocket = page
    .getByRole("group", { name: "Pictures", exact: true })
    .getByRole("button", { name: "rocket", exact: true });
  await rocket.click();
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  expect(await download(page, viewer)).toBe("rocket.jpg");
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  // Nothing that the page asks for is answered.
  await page.route("**/api/trpc/**", () => undefined);
  // The page goes without them when they take longer than its patience, as on a busy machine.
  await expect(async () => {
    await page.reload();
    await expect(rocket).toBeVisible({ timeout: 5_000 });
  }).toPass();
  await expect(async () => {
    const asPage = await page.request.get("/gallery", { headers: { accept: "text/html" } });
    expect(await asPage.text()).toContain(`/api/v1/images/${id}/file?variant=thumbnail`);
  }).toPass();
  // As a part of the studio that is open already it comes at once.
  const asPart = await page.request.get("/gallery", { headers: { accept: "*/*" } });
  expect(await asPart.text()).not.toContain(id);
});

test("@all pictures of today stand under Today also in a browser whose clock is days off", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const heading = page.getByRole("heading", { level: 2, name: /^Today/ });
  for (const days of [3, -3]) {
    await page.clock.setSystemTime(Date.now() + days * 86_400_000);
    await page.goto("/gallery");
    await expect(heading).toBeVisible();
  }
});

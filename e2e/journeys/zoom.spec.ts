import type { Locator, Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { tapUntil } from "../steps/tap-until.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const widthPx = 3_000;

/** A guest with a small and a large picture in the gallery; the large one is the newer one. */
async function openGallery(page: Page) {
  await beGuest(page);
  await uploadSample(page, "chelsea.png");
  await uploadSample(page, "rocket.jpg", widthPx);
  await page.goto("/gallery");
  const viewer = page.getByRole("dialog", { name: "Picture", exact: true });
  const picture = viewer.getByRole("img", { name: "rocket" });
  return { viewer, picture, whole: viewer.getByRole("button", { name: /^\d+ %, Show the whole picture$/ }) };
}

async function boxOf(picture: Locator) {
  const box = await picture.boundingBox();
  if (box === null) throw new Error("The picture is not shown.");
  return box;
}

/** The part of the picture's width and height at a point of the window. */
async function partAt(picture: Locator, { x, y }: { readonly x: number; readonly y: number }) {
  const box = await boxOf(picture);
  return [(x - box.x) / box.width, (y - box.y) / box.height].map((part) => Math.round(part * 100));
}

test("the viewer shows each pixel of a picture and more: double click, wheel, drag and keys", async ({
  page,
}) => {
  const { viewer, picture, whole } = await openGallery(page);
  // Its second click is not for the picture.
  await page.getByRole("button", { name: "rocket", exact: true }).dblclick();
  await expect(picture).toHaveJSProperty("complete", true);
  await expect(viewer.getByRole("button", { name: "Close" })).toBeFocused();
  await expect(whole).toHaveCount(0);
  const before = await boxOf(picture);

  const original = Promise.withResolvers<void>();
  await page.route(/variant=original/, (route) => original.promise.then(() => route.continue()));
  const at = { x: before.x + before.width * 0.3, y: before.y + before.height * 0.4 };
  const part = await partAt(picture, at);
  await page.mouse.dblclick(at.x, at.y);
  await expect(whole).toHaveText("100 %");
  expect((await boxOf(picture)).width).toBeCloseTo(widthPx, 0);
  expect(await partAt(picture, at)).toEqual(part);
  await expect(picture).toHaveAttribute("src", /variant=preview/);
  original.resolve();
  await expect(picture).toHaveAttribute("src", /variant=original/);
  expect(await picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(widthPx);
  expect(await findBarriers(page)).toEqual([]);

  const { x } = await boxOf(picture);
  await page.mouse.down();
  await page.mouse.move(at.x - 120, at.y, { steps: 4 });
  await page.mouse.up();
  expect((await boxOf(picture)).x).toBeCloseTo(x - 120, 0);
  // No further than to its edge.
  await page.mouse.down();
  await page.mouse.move(at.x + 1_900, at.y, { steps: 4 });
  await page.mouse.up();
  const edge = (await boxOf(picture)).x;
  expect(edge).toBeGreaterThan(0);
  expect(edge).toBeLessThan(before.x);

  await page.mouse.move(at.x, at.y);
  await page.mouse.wheel(0, -4_000);
  await expect(whole).toHaveText("400 %");
  await expect(picture).toHaveCSS("image-rendering", "pixelated");
  await page.keyboard.press("-");
  await expect(whole).toHaveText("320 %");
  await page.keyboard.press("+");
  await expect(whole).toHaveText("400 %");
  await page.mouse.wheel(0, 9_000);
  await expect(whole).toHaveCount(0);
  expect(await boxOf(picture)).toEqual(before);
  await page.keyboard.press("z");
  await expect(whole).toHaveText("100 %");
  await whole.click();
  await expect(whole).toHaveCount(0);

  // An arrow moves what is close, with Shift it leads to another picture, which is whole; ratings are what they were.
  await page.keyboard.press("z");
  await expect(whole).toHaveText("100 %");
  const middle = await boxOf(picture);
  const moved = async (from: { readonly x: number }, shown: Locator) => (await boxOf(shown)).x - from.x;
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => moved(middle, picture)).toBeCloseTo(-80, 0);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => moved(middle, picture)).toBeCloseTo(0, 0);
  await page.keyboard.press("3");
  await expect(page.getByText("Rated with 3 stars")).toBeAttached();
  await page.keyboard.press("Shift+ArrowRight");
  const chelsea = viewer.getByRole("img", { name: "chelsea" });
  await expect(chelsea).toBeVisible();
  await expect(whole).toHaveCount(0);
  // Also one that was left enlarged.
  await page.keyboard.press("Shift+ArrowLeft");
  await expect(picture).toBeVisible();
  await expect(whole).toHaveCount(0);
  await page.keyboard.press("Shift+ArrowRight");
  await expect(chelsea).toBeVisible();

  // From its edge it leads on, too.
  for (let press = 0; press < 12; press += 1) await page.keyboard.press("+");
  await expect(whole).toHaveText("400 %");
  await expect(chelsea).toHaveAttribute("src", /variant=original/);
  const close = await boxOf(chelsea);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => moved(close, chelsea)).toBeGreaterThan(1);
  await expect(async () => {
    if (await chelsea.isVisible()) await page.keyboard.press("ArrowLeft");
    expect(await picture.isVisible()).toBe(true);
  }).toPass();
});

test("@all @phone two fingers enlarge a picture of the viewer, then one moves it and does not leave it, until it is whole", async ({
  page,
}) => {
  const { viewer, picture, whole } = await openGallery(page);
  await page.getByRole("button", { name: "rocket", exact: true }).tap();
  await expect(picture).toHaveJSProperty("complete", true);
  const input = await page.context().newCDPSession(page);
  type Finger = readonly [x: number, y: number];
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...fingers: readonly Finger[]) =>
    input.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: fingers.map(([x, y], id) => ({ x, y, id })),
    });
  const before = await boxOf(picture);
  const middle = before.y + before.height / 2;
  await touch("touchStart", [170, middle]);
  await touch("touchStart", [170, middle], [220, middle]);
  for (const by of [20, 60, 100]) await touch("touchMove", [170 - by, middle], [220 + by, middle]);
  await touch("touchEnd");
  await expect(whole).toBeVisible();
  await expect(picture).toHaveAttribute("src", /variant=original/);
  const close = await boxOf(picture);
  // Five times the distance of the fingers.
  expect(close.width / before.width).toBeCloseTo(5, 1);
  const scale = () => page.evaluate(() => window.visualViewport?.scale);
  expect(await scale()).toBe(1);

  await touch("touchStart", [300, middle]);
  for (const x of [250, 200, 150]) await touch("touchMove", [x, middle]);
  await touch("touchEnd");
  await expect.poll(async () => (await boxOf(picture)).x).toBeCloseTo(close.x - 150, 0);

  await tapUntil(whole, async () => (await whole.count()) === 0);
  await touch("touchStart", [300, middle]);
  for (const x of [250, 200, 150]) await touch("touchMove", [x, middle]);
  await touch("touchEnd");
  await expect(viewer.getByRole("img", { name: "chelsea" })).toBeVisible();

  await touch("touchStart", [200, middle]);
  for (const by of [20, 60]) await touch("touchMove", [205, middle + by]);
  await touch("touchEnd");
  await expect(viewer).toBeVisible();
  await touch("touchStart", [200, middle]);
  for (const by of [40, 80, 120]) await touch("touchMove", [205, middle + by]);
  await touch("touchEnd");
  await expect(viewer).toHaveCount(0);
});

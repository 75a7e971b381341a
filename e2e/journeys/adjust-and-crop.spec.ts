import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { countChanges } from "../steps/count-changes.ts";
import { paintLine } from "../steps/paint-line.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

interface Shown {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly pixels: readonly number[];
}

/** What the preview shows of the picture, pixel by pixel; null while it is not that fine yet. */
async function readPreview(page: Page): Promise<Shown | null> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(
      "[data-preview=shown][data-source*=original] canvas:last-child",
    );
    if (canvas === null || canvas.style.width !== `${canvas.width}px` || canvas.style.display === "none")
      return null;
    const { width, height, style } = canvas;
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context?.drawImage(canvas, 0, 0);
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: [] };
    const [left, top] = [Number.parseInt(style.left), Number.parseInt(style.top)];
    return { left, top, width, height, pixels: [...data] };
  });
}

/** The largest difference between what was shown and the same part of a stored picture. */
async function farthest(page: Page, shown: Shown, imageId: string): Promise<number> {
  const given = { shown, url: `/api/v1/images/${imageId}/file?variant=original` };
  return page.evaluate(async ({ shown: { left, top, width, height, pixels }, url }) => {
    // Beyond what is seen the part has an edge of its own.
    const isInside = (at: number) => {
      const [x, y] = [Math.floor(at / 4) % width, Math.floor(at / 4 / width)];
      return x > 2 && y > 2 && x < width - 3 && y < height - 3;
    };
    const bitmap = await createImageBitmap(await (await fetch(url)).blob());
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context?.drawImage(bitmap, -left, -top);
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: [] };
    const differences = pixels.map((value, at) => (isInside(at) ? Math.abs(value - (data[at] ?? -999)) : 0));
    return differences.reduce((most, one) => Math.max(most, one), 0);
  }, given);
}

test("@all D1 a photo is adjusted as the stage shows it, partly restored and cropped; the crop opens again, and no AI is named", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  await chooseMode(page, "Adjust");
  const apply = page.getByRole("button", { name: "Apply", exact: true });
  await expect(apply).toBeDisabled();

  await page.getByRole("slider", { name: "Light" }).focus();
  await page.keyboard.press("PageUp");
  await page.getByRole("slider", { name: "Sharpness" }).focus();
  await page.keyboard.press("PageUp");
  await page.keyboard.press("PageUp");
  const preview = page.locator("[data-preview]");
  await expect(preview).toHaveAttribute("data-preview", "shown");
  await page.keyboard.down("\\");
  await expect(preview).toHaveAttribute("data-preview", "hidden");
  await page.keyboard.up("\\");
  await expect(preview).toHaveAttribute("data-preview", "shown");

  // Large enough to be drawn from the stored original, and a part of it.
  const zoomIn = page.getByRole("button", { name: "Zoom in" });
  for (let times = 0; times < 4; times += 1) await zoomIn.click();
  await expect(apply).toBeEnabled();
  // The one that was fine enough: a moment later there may be none again.
  const previews: Shown[] = [];
  const readWidth = async () => {
    const preview = await readPreview(page);
    if (preview) previews.push(preview);
    return preview?.width ?? 0;
  };
  await expect.poll(readWidth, { timeout: 120_000 }).toBeGreaterThan(50);
  const shown = previews.at(-1);
  if (shown === undefined) throw new Error("there is no preview");
  await apply.click();
  const versions = page.getByRole("list", { name: "Versions" });
  const isCurrent = (name: string) =>
    expect(versions.getByRole("button", { name })).toHaveAttribute("aria-current", "true");
  await isCurrent("Version 2");
  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(() => shownImageId(picture), { timeout: 120_000 }).not.toBe(id);
  const adjusted = await shownImageId(picture);
  await expect.poll(() => farthest(page, shown, adjusted), { timeout: 120_000 }).toBeLessThanOrEqual(1);
  await expect(apply, "the adjustments are in the version").toBeDisabled();
  await expect(page.getByText("AI", { exact: true })).toHaveCount(0);

  await page.getByRole("button", { name: /Show the whole picture/ }).click();
  await page.keyboard.press("r");
  const restore = page.getByRole("button", { name: "Restore", exact: true });
  await expect(restore).toBeDisabled();
  await paintLine(page, { from: { x: 60, y: 60 }, to: { x: 130, y: 60 }, pictureWidth: 600 });
  await expect(restore).toBeEnabled();
  await restore.click();
  await isCurrent("Version 3");
  await expect.poll(() => shownImageId(picture), { timeout: 120_000 }).not.toBe(adjusted);
  const restored = await shownImageId(picture);
  const painted = { x: 70, y: 50, width: 50, height: 20 };
  await expect.poll(() => countChanges(page, { before: id, after: restored, box: painted })).toBe(0);
  const other = { x: 200, y: 150, width: 300, height: 200 };
  await expect.poll(() => countChanges(page, { before: adjusted, after: restored, box: other })).toBe(0);
  await expect
    .poll(() => countChanges(page, { before: id, after: restored, box: other }))
    .toBeGreaterThan(1_000);
  await expect(page.getByText("AI", { exact: true })).toHaveCount(0);

  await page.keyboard.press("c");
  const frame = page.getByRole("application", { name: /Frame of the crop/ });
  await expect(frame).toHaveAccessibleName(/600 × 400/);
  await page.getByRole("radio", { name: "1:1" }).click();
  await expect(frame).toHaveAccessibleName(/400 × 400/);
  await expect
    .poll(async () => (await frame.boundingBox())?.width ?? 0, { timeout: 120_000 })
    .toBeGreaterThan(100);
  const box = await frame.boundingBox();
  if (box === null) throw new Error("there is no frame");
  await page.mouse.move(box.x + box.width, box.y + box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - box.width / 4, box.y + box.height - box.height / 4, { steps: 4 });
  await page.mouse.up();
  await expect(frame).toHaveAccessibleName(/(30\d|29\d) × (30\d|29\d)/);
  await frame.focus();
  await page.keyboard.press("ArrowLeft");
  const name = await frame.getAttribute("aria-label");
  await page.keyboard.press("Enter");
  await isCurrent("Version 4");
  await expect(page.locator("header").getByText(/(30\d|29\d) × (30\d|29\d)/)).toBeVisible();
  await expect(page.getByText("AI", { exact: true })).toHaveCount(0);

  await page.getByRole("link", { name: "Change the crop it was made by" }).click();
  await expect(page).toHaveURL(new RegExp(`/edit/${restored}`));
  await expect(frame).toHaveAccessibleName(name ?? "");
  await page.keyboard.press("Escape");
  await expect(frame).toHaveCount(0);
});

/** Of each px of a column the sum of its colours. */
function readColumn(page: Page, id: string, x: number, height: number): Promise<number[]> {
  return page.evaluate(
    async (given) => {
      const file = await fetch(`/api/v1/images/${given.id}/file?variant=original`);
      const bitmap = await createImageBitmap(await file.blob());
      const context = new OffscreenCanvas(1, given.height).getContext("2d");
      context?.drawImage(bitmap, -given.x, 0);
      const { data } = context?.getImageData(0, 0, 1, given.height) ?? { data: [] };
      return Array.from(
        { length: given.height },
        (_, y) => (data[y * 4] ?? 0) + (data[y * 4 + 1] ?? 0) + (data[y * 4 + 2] ?? 0),
      );
    },
    { id, x, height },
  );
}

test("D1 @all a soft brush restores with a soft edge", async ({ page }) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  await chooseMode(page, "Adjust");
  await page.getByRole("slider", { name: "Light" }).focus();
  for (let times = 0; times < 4; times += 1) await page.keyboard.press("PageUp");
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(() => shownImageId(picture)).not.toBe(id);
  const adjusted = await shownImageId(picture);

  await page.keyboard.press("r");
  await page.getByRole("slider", { name: "Hardness" }).press("Home");
  await paintLine(page, { from: { x: 420, y: 100 }, to: { x: 560, y: 100 }, pictureWidth: 600 });
  const restore = page.getByRole("button", { name: "Restore", exact: true });
  await expect(restore).toBeEnabled();
  await restore.click();
  await expect.poll(() => shownImageId(picture)).not.toBe(adjusted);
  const restored = await shownImageId(picture);
  const [own, old, now] = [
    await readColumn(page, adjusted, 490, 400),
    await readColumn(page, id, 490, 400),
    await readColumn(page, restored, 490, 400),
  ];
  /** How much of the old picture a px has. */
  const shares = now.map((value, y) => (value - (own[y] ?? 0)) / ((old[y] ?? 0) - (own[y] ?? 0)));
  expect(shares[100]).toBeGreaterThan(0.9);
  expect(Math.abs(shares[200] ?? 1)).toBe(0);
  const between = shares.filter((share) => share > 0.1 && share < 0.9);
  expect(between.length).toBeGreaterThan(10);
});

import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { beGuest } from "./be-guest.ts";
import { readMask } from "./read-mask.ts";
import { uploadSample } from "./upload-sample.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Of the picture that `openEditor` opens, in px. */
export const pictureWidth = 600;

/** Opens the editor on a picture of 600 x 400 px, and returns how its points lie on the screen. */
export async function openEditor(page: Page): Promise<(point: Point) => Point> {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  const picture = page.getByRole("img", { name: "The picture you edit" });
  // Until its bytes are there it has no size.
  await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(200);
  const box = await picture.boundingBox();
  if (box === null) throw new Error("There is no picture.");
  const scale = box.width / pictureWidth;
  return ({ x, y }) => ({ x: box.x + x * scale, y: box.y + y * scale });
}

/** With the mouse, from the first point to the last. */
export async function drag(page: Page, points: readonly Point[]): Promise<void> {
  const [first, ...rest] = points;
  if (first === undefined) return;
  await page.mouse.move(first.x, first.y);
  await page.mouse.down();
  for (const { x, y } of rest) await page.mouse.move(x, y, { steps: 6 });
  await page.mouse.up();
}

/** Polls until the points are marked as said: true is marked, false not. */
export async function expectMask(
  page: Page,
  wanted: readonly (readonly [x: number, y: number, is: boolean])[],
): Promise<void> {
  await expect
    .poll(async () => {
      const greys = await readMask(
        page,
        wanted.map(([x, y]) => ({ x, y })),
      );
      return greys.map((grey) => grey >= 128);
    })
    .toEqual(wanted.map(([, , is]) => is));
}

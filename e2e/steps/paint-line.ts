import type { Page } from "@playwright/test";
import { expect } from "../test.ts";

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Line {
  /** In px of the picture. */
  readonly from: Point;
  readonly to: Point;
  readonly pictureWidth: number;
}

/** Paints with the mouse from one point of the edited picture to another. */
export async function paintLine(page: Page, { from, to, pictureWidth }: Line): Promise<void> {
  const picture = page.getByRole("img", { name: "The picture you edit" });
  // Before the page has measured its stage the picture is a dot.
  await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(200);
  const box = await picture.boundingBox();
  if (box === null) throw new Error("There is no picture to paint on.");
  const scale = box.width / pictureWidth;
  const onScreen = ({ x, y }: Point) => [box.x + x * scale, box.y + y * scale] as const;
  await page.mouse.move(...onScreen(from));
  await page.mouse.down();
  await page.mouse.move(...onScreen(to), { steps: 8 });
  await page.mouse.up();
}

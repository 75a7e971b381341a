import type { Page } from "@playwright/test";

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
  const box = await page.getByRole("img", { name: "The picture you edit" }).boundingBox();
  if (box === null) throw new Error("There is no picture to paint on.");
  const scale = box.width / pictureWidth;
  const onScreen = ({ x, y }: Point) => [box.x + x * scale, box.y + y * scale] as const;
  await page.mouse.move(...onScreen(from));
  await page.mouse.down();
  await page.mouse.move(...onScreen(to), { steps: 8 });
  await page.mouse.up();
}

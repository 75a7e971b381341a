import type { Page } from "@playwright/test";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** How strongly points of the edited picture are marked on the stage, 0..255; the points are in px of the picture. */
export function readMask(page: Page, points: readonly Point[]): Promise<number[]> {
  return page.getByRole("application", { name: "Picture to paint on" }).evaluate((stage, places) => {
    const tint = stage.querySelector("canvas");
    const picture = tint?.parentElement;
    const context = tint?.getContext("2d");
    if (!tint || !picture || !context) return [];
    const scale = tint.width / picture.offsetWidth;
    return places.map(({ x, y }) => context.getImageData(x * scale, y * scale, 1, 1).data[3] ?? -1);
  }, points);
}

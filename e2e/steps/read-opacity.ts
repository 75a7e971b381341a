import type { Page } from "@playwright/test";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The opacity (0..255) of a stored picture at some points, decoded by the browser. */
export function readOpacity(page: Page, imageId: string, points: readonly Point[]): Promise<number[]> {
  return page.evaluate(
    async ({ id, places }) => {
      const file = await fetch(`/api/v1/images/${id}/file`);
      const bitmap = await createImageBitmap(await file.blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      if (context === null) return [];
      context.drawImage(bitmap, 0, 0);
      return places.map(({ x, y }) => context.getImageData(x, y, 1, 1).data[3] ?? -1);
    },
    { id: imageId, places: points },
  );
}

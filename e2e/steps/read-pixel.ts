import type { Page } from "@playwright/test";

/** Red, green, blue and alpha of a px of a stored picture. */
export function readPixel(page: Page, id: string, x: number, y: number): Promise<number[]> {
  return page.evaluate(
    async (at) => {
      const file = await fetch(`/api/v1/images/${at.id}/file?variant=original`);
      const bitmap = await createImageBitmap(await file.blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      if (context === null) throw new Error("No canvas.");
      context.drawImage(bitmap, 0, 0);
      return [...context.getImageData(at.x, at.y, 1, 1).data];
    },
    { id, x, y },
  );
}

import type { Page } from "@playwright/test";

interface Comparison {
  readonly before: string;
  readonly after: string;
  readonly box: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  };
}

/** How many pixels of two stored pictures of one size differ inside a box. */
export function countChanges(page: Page, comparison: Comparison): Promise<number> {
  return page.evaluate(async ({ before, after, box }) => {
    async function read(id: string): Promise<Uint8ClampedArray> {
      const file = await fetch(`/api/v1/images/${id}/file`);
      const bitmap = await createImageBitmap(await file.blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      if (context === null) throw new Error("No canvas.");
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(box.x, box.y, box.width, box.height).data;
    }
    const [a, b] = await Promise.all([read(before), read(after)]);
    let changed = 0;
    for (let at = 0; at < a.length; at += 4) {
      if (a[at] !== b[at] || a[at + 1] !== b[at + 1] || a[at + 2] !== b[at + 2]) changed += 1;
    }
    return changed;
  }, comparison);
}

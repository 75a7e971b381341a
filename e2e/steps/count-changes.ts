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
  /** Where the corner of the picture at the top left is in the one after. Default: in its corner. */
  readonly moved?: { readonly x: number; readonly y: number };
}

/** How many pixels of two stored pictures differ inside a box of the one before. */
export function countChanges(page: Page, comparison: Comparison): Promise<number> {
  return page.evaluate(async ({ before, after, box, moved = { x: 0, y: 0 } }) => {
    async function read(id: string, { x, y }: { x: number; y: number }): Promise<Uint8ClampedArray> {
      const file = await fetch(`/api/v1/images/${id}/file`);
      const bitmap = await createImageBitmap(await file.blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      if (context === null) throw new Error("No canvas.");
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(box.x + x, box.y + y, box.width, box.height).data;
    }
    const [a, b] = await Promise.all([read(before, { x: 0, y: 0 }), read(after, moved)]);
    let changed = 0;
    for (let at = 0; at < a.length; at += 4) {
      if (a[at] !== b[at] || a[at + 1] !== b[at + 1] || a[at + 2] !== b[at + 2]) changed += 1;
    }
    return changed;
  }, comparison);
}

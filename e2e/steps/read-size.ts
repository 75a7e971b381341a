import type { Page } from "@playwright/test";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of a stored picture, decoded by the browser. */
export function readSize(page: Page, imageId: string): Promise<Size> {
  return page.evaluate(async (id) => {
    const file = await fetch(`/api/v1/images/${id}/file`);
    const { width, height } = await createImageBitmap(await file.blob());
    return { width, height };
  }, imageId);
}

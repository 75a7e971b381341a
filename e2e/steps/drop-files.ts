import type { Locator } from "@playwright/test";
import { expect } from "../test.ts";

/** Whether the page would take a file that is let go on an element: before its code listens, the browser would open the file. */
const takesFiles = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([], "a file"));
    const over = new DragEvent("dragover", { dataTransfer, bubbles: true, cancelable: true });
    return !element.dispatchEvent(over);
  });

/** Drags files from outside the browser onto an element and lets go, as the system does it. */
export async function dropFiles(target: Locator, files: readonly string[]): Promise<void> {
  await expect.poll(() => takesFiles(target)).toBe(true);
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  if (box === null) throw new Error("There is nothing to drop on.");
  const page = target.page();
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, ...at, data });
  }
  await session.detach();
}

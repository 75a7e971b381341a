import type { Page } from "@playwright/test";

/** Copies a picture that the server offers to the clipboard and presses the keys that paste it. */
export async function pastePicture(page: Page, address: string): Promise<void> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(async (url) => {
    const file = await fetch(url);
    await navigator.clipboard.write([new ClipboardItem({ "image/png": await file.blob() })]);
  }, address);
  await page.keyboard.press("Control+V");
}

import type { Page } from "@playwright/test";

/** How far the page scrolls sideways, in pixels; a page that fits does not. */
export function sidewaysPx(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

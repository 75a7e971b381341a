import type { Page } from "@playwright/test";

/** Holds the scripts of pages back, as a slow connection does; returns how to let them go on. */
export async function holdCode(page: Page): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(/\/_next\/static\/chunks\/.*\.js/, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

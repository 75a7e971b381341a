import type { Page } from "@playwright/test";

/** As in app/palette/first-keys.ts. */
const forgottenAfterMs = 10_000;

/** In pages from now on what is typed before their code is there waits for it as long as a slow machine takes. */
export async function keepFirstKeys(page: Page): Promise<void> {
  await page.addInitScript((neverMs) => {
    const usual = window.setTimeout;
    const setTimeout = (work: TimerHandler, ms?: number, ...rest: unknown[]) =>
      ms === neverMs ? 0 : usual(work, ms, ...rest);
    Object.assign(window, { setTimeout });
  }, forgottenAfterMs);
}

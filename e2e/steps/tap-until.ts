import type { Locator } from "@playwright/test";
import { expect } from "../test.ts";

/**
 * Taps until something is heard of it. The browser takes a tap right after a quick stroke, which it saw as the start of a fling,
 * for the one that stops the fling: about one of thirty on a loaded machine. A person taps again.
 */
export async function tapUntil(button: Locator, isHeard: () => Promise<boolean>): Promise<void> {
  await expect(async () => {
    if (await isHeard()) return;
    await button.tap({ timeout: 2_000 });
    expect(await isHeard()).toBe(true);
  }).toPass();
}

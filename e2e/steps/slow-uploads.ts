import type { Page } from "@playwright/test";

/** Limits what the browser sends, so that an upload can be watched; returns how to lift the limit. */
export async function slowUploads(page: Page, bytesPerSecond: number): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  const free = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", { ...free, uploadThroughput: bytesPerSecond });
  return async () => {
    await session.send("Network.emulateNetworkConditions", free);
    await session.detach();
  };
}

import type { Locator, Page } from "@playwright/test";

/** The live node on the admin's page of nodes; there is one. */
export function liveNode(page: Page): Locator {
  return page.getByRole("region").filter({ has: page.getByText(/^Beat /) });
}

import type { Browser, Page } from "@playwright/test";
import { expect } from "../test.ts";
import { beAdmin } from "./be-admin.ts";
import { liveNode } from "./live-node.ts";

const stateAfter = { Drain: "Draining", Resume: "Active" } as const;

/** Presses a button of the live node; the admin's page of nodes is open. */
export async function orderNode(page: Page, order: keyof typeof stateAfter): Promise<void> {
  const button = liveNode(page).getByRole("button", { name: new RegExp(`^${order} `) });
  await button.first().click();
  await expect(liveNode(page).getByText(stateAfter[order], { exact: true })).toBeVisible();
}

/** An admin in a window apart drains the node, so that jobs wait until the returned function resumes it. */
export async function holdJobs(browser: Browser): Promise<() => Promise<void>> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await beAdmin(page);
  await page.goto("/admin/nodes");
  await orderNode(page, "Drain");
  return async () => {
    await orderNode(page, "Resume");
    await context.close();
  };
}

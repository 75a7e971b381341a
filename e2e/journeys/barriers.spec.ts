import { beAdmin } from "../steps/be-admin.ts";
import { everyPage } from "../steps/every-page.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { furnish } from "../steps/furnish.ts";
import { liveNode } from "../steps/live-node.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

// What axe finds says enough; a trace of its work doubles the time.
test.use({ trace: "off" });

test("WCAG 2.2 AA: axe finds nothing on any page, light or dark", async ({ page }) => {
  test.slow();
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect.soft(await findBarriers(page), `${address} in ${colorScheme}`).toEqual([]);
    }
  }
});

test.describe("an address that leads nowhere", () => {
  test.use({ expectedError: /status of 404/ });

  test("WCAG 2.2 AA: axe finds nothing on the not-found page and on the empty pages of a guest", async ({
    page,
  }) => {
    await page.goto("/nowhere");
    await expect(page.getByRole("heading", { name: "Nothing hangs here", level: 2 })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
    await page.goto("/gallery");
    await expect(page.getByRole("heading", { name: "Bare walls" })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
    await page.goto("/settings");
    await expect(page.getByRole("link", { name: "Create account" })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
    await page.goto("/api/v1/docs");
    expect.soft(await findBarriers(page)).toEqual([]);
  });
});

test("WCAG 2.2 AA: axe finds nothing on the admin's pages, light or dark, and they fit 1,024 pixels", async ({
  page,
}) => {
  test.slow();
  await beAdmin(page);
  const image = await uploadSample(page, "astronaut.png");
  const jobId = await submitJob(page, { kind: "remove_background", inputs: { image } });
  await waitForResult(page, jobId);
  const stops = [
    ["/admin", page.getByRole("heading", { name: "Throughput" })],
    ["/admin/queues", page.getByRole("heading", { name: "cpu-light" })],
    ["/admin/nodes", liveNode(page)],
    ["/admin/jobs", page.getByRole("table", { name: "Jobs" })],
    [`/admin/jobs/${jobId}`, page.getByRole("heading", { name: "What happened" })],
    ["/admin/users", page.getByRole("table", { name: "Users" })],
  ] as const;
  for (const [address, landmark] of stops) {
    await page.setViewportSize({ width: 1680, height: 1050 });
    await page.goto(address);
    await expect(landmark).toBeVisible();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect.soft(await findBarriers(page), `${address} in ${colorScheme}`).toEqual([]);
    }
    await page.setViewportSize({ width: 1024, height: 768 });
    expect.soft(await sidewaysPx(page), `sideways scroll on ${address}`).toBeLessThanOrEqual(0);
  }
});

test("WCAG 2.2 AA @phone no page scrolls sideways or has a barrier at 390 pixels", async ({ page }) => {
  test.slow();
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    expect.soft(await sidewaysPx(page), `sideways scroll on ${address}`).toBeLessThanOrEqual(0);
    expect.soft(await findBarriers(page), address).toEqual([]);
  }
});

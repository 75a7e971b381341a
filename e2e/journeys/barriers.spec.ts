import { everyPage } from "../steps/every-page.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { furnish } from "../steps/furnish.ts";
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

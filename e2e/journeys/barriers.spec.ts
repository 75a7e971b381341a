import { everyPage } from "../steps/every-page.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { furnish } from "../steps/furnish.ts";
import { expect, test } from "../test.ts";

test("WCAG 2.2 AA: axe finds nothing on any page, light or dark", async ({ page, context, baseURL }) => {
  test.slow();
  const pages = everyPage(await furnish(page));
  for (const theme of ["light", "dark"]) {
    await context.addCookies([{ name: "atelier-theme", value: theme, url: baseURL ?? "" }]);
    for (const { address, landmark } of pages) {
      await page.goto(address);
      await expect(landmark(page)).toBeVisible();
      await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
      expect.soft(await findBarriers(page), `${address} in ${theme}`).toEqual([]);
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

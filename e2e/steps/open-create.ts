import type { Locator, Page } from "@playwright/test";

/** Opens Create; its prompt and its button. */
export async function openCreate(page: Page): Promise<{ prompt: Locator; make: Locator }> {
  await page.goto("/create");
  return {
    prompt: page.getByRole("textbox", { name: "Prompt", exact: true }),
    make: page.getByRole("button", { name: /^Generate/ }),
  };
}

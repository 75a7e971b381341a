import { expect, test } from "../test.ts";

test("look.md: the chosen look is kept over a reload, from the first byte", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/settings");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  await page.getByRole("radio", { name: "Dark" }).click();
  await expect.poll(ground).not.toBe(light);
  const answered = await page.reload();
  expect(await answered?.text()).toContain('data-theme="dark"');
  expect(await ground()).not.toBe(light);
});

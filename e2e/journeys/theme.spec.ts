import { expect, test } from "../test.ts";

test("@all look.md: the chosen look is kept over a reload, from the first byte", async ({ page }) => {
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

test("@all a page is readable with the colours of the system, on paper, and while a browser translates it", async ({
  page,
}) => {
  await page.emulateMedia({ colorScheme: "dark", forcedColors: "active" });
  await page.goto("/settings");
  const groundOf = (name: string) =>
    page.getByRole("radio", { name }).evaluate((radio) => getComputedStyle(radio).backgroundColor);
  await page.getByRole("radio", { name: "Dark" }).click();
  await expect.poll(() => groundOf("Dark")).not.toBe(await groundOf("Light"));

  const ground = () => page.evaluate(() => getComputedStyle(document.body).colorScheme);
  await page.emulateMedia({ media: "print", forcedColors: "none" });
  await expect.poll(ground).toBe("light");
  await page.emulateMedia({ media: "screen" });
  await expect.poll(ground).toBe("dark");

  await page.evaluate(() => {
    const texts: Text[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode instanceof Text) texts.push(walker.currentNode);
    for (const text of texts) {
      if (text.parentElement?.closest("script, style") !== null) continue;
      const font = document.createElement("font");
      text.replaceWith(font);
      font.append(text);
    }
  });
  const links = page.getByRole("navigation", { name: "Main" });
  for (const name of ["Gallery", "Assistant", "Jobs"]) {
    await links.getByRole("link", { name, exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name })).toBeAttached();
  }
});

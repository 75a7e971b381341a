import bg from "../../messages/bg.json" with { type: "json" };
import de from "../../messages/de.json" with { type: "json" };
import en from "../../messages/en.json" with { type: "json" };
import es from "../../messages/es.json" with { type: "json" };
import ru from "../../messages/ru.json" with { type: "json" };
import zh from "../../messages/zh-CN.json" with { type: "json" };
import { beGuest } from "../steps/be-guest.ts";
import { expect, test } from "../test.ts";

/** The name of the menu of languages; English where a catalogue has none yet. */
const menuOf = ({ language = en.common.language }: Partial<typeof en.common>) => language;

test("a language that is chosen in the settings is that of all pages", async ({ page }) => {
  await beGuest(page);
  await page.goto("/settings");
  await page.getByRole("combobox", { name: en.common.language }).click();
  await page.getByRole("option", { name: "Deutsch" }).click();
  await expect(page.getByRole("heading", { level: 1, name: de.frame.pages.settings })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  await expect(page.getByRole("combobox", { name: menuOf(de.common) })).toHaveText("Deutsch");
  const links = page.getByRole("navigation", { name: de.frame.navigation });
  for (const name of ["gallery", "jobs", "assistant"] as const) {
    await links.getByRole("link", { name: de.frame.pages[name], exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name: de.frame.pages[name] })).toBeAttached();
  }
  const missing = await page.request.get("/nowhere");
  expect(await missing.text()).toContain(de.pageErrors.notFoundTitle);
});

test("@all what is typed stays when the language changes, and the account has it in another browser", async ({
  page,
  browser,
  baseURL,
}) => {
  await page.goto("/sign-in?new=1");
  const account = { email: `language-${Date.now()}@example.test`, password: "a long enough password" };
  await page.getByLabel(en.signIn.name, { exact: true }).fill("Olga");
  await page.getByLabel(en.signIn.email, { exact: true }).fill(account.email);
  await page.getByRole("combobox", { name: en.common.language }).click();
  await page.getByRole("option", { name: "Русский" }).click();
  await expect(page.getByRole("heading", { name: ru.signIn.titles.create })).toBeVisible();
  await expect(page.getByLabel(ru.signIn.name, { exact: true })).toHaveValue("Olga");
  await page.getByLabel(ru.signIn.password, { exact: true }).fill(account.password);
  await page.getByRole("button", { name: ru.signIn.create }).click();
  await page.waitForURL("/");
  await expect(page.locator("html")).toHaveAttribute("lang", "ru");

  const elsewhere = await browser.newContext({ locale: "es-MX", ...(baseURL ? { baseURL } : {}) });
  const there = await elsewhere.newPage();
  await there.goto("/sign-in");
  await expect(there.locator("html")).toHaveAttribute("lang", "es");
  await there.getByLabel(es.signIn.email, { exact: true }).fill(account.email);
  await there.getByLabel(es.signIn.password, { exact: true }).fill(account.password);
  await there.getByRole("button", { name: es.signIn.enter }).click();
  await there.waitForURL("/");
  await expect(there.locator("html")).toHaveAttribute("lang", "ru");
  await elsewhere.close();
});

test("@all a visitor gets the language of the browser, and English when the studio has none of those", async ({
  browser,
  baseURL,
}) => {
  const cases = [
    { locale: "zh-TW", lang: "zh-CN", words: zh },
    { locale: "bg-BG", lang: "bg", words: bg },
    { locale: "fr-FR", lang: "en", words: en },
  ] as const;
  for (const { locale, lang, words } of cases) {
    const context = await browser.newContext({ locale, ...(baseURL ? { baseURL } : {}) });
    const page = await context.newPage();
    await page.goto("/sign-in");
    const { signIn, common } = words;
    await expect(page.locator("html")).toHaveAttribute("lang", lang);
    await expect(page.getByRole("heading", { name: signIn.titles.signIn })).toBeVisible();
    await expect(page).toHaveTitle(new RegExp(signIn.title));
    await expect(page.getByRole("combobox", { name: menuOf(common) })).toBeVisible();
    await context.close();
  }
});

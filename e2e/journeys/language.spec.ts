import bg from "../../messages/bg.json" with { type: "json" };
import de from "../../messages/de.json" with { type: "json" };
import en from "../../messages/en.json" with { type: "json" };
import es from "../../messages/es.json" with { type: "json" };
import ru from "../../messages/ru.json" with { type: "json" };
import zh from "../../messages/zh-CN.json" with { type: "json" };
import { beGuest } from "../steps/be-guest.ts";
import { beUser } from "../steps/be-user.ts";
import { cutWords } from "../steps/cut-words.ts";
import { sameSite } from "../steps/same-site.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
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

test("@all the studio's own words are whole in all languages, on a phone and on a wide screen", async ({
  page,
  context,
  baseURL,
}) => {
  test.slow();
  await beUser(page);
  const image = await uploadSample(page, "rocket.jpg", 1_600);
  const person = await uploadSample(page, "astronaut.png");
  // Shoes, which no engine puts on, and a person who has not agreed.
  for (const item of [
    { imageId: image, what: "garment", category: "shoes" },
    { imageId: person, what: "person" },
  ]) {
    const answer = await page.request.post("/api/trpc/wardrobe.add", { data: { json: item }, ...sameSite() });
    expect(answer.status(), await answer.text()).toBe(200);
  }
  // One runs, the others wait for it.
  let submitted = 0;
  const upscaleOne = async () => {
    await submitJob(page, { kind: "upscale", inputs: { image } });
    submitted += 1;
  };
  for (let n = 0; n < 4; n += 1) await upscaleOne();

  for (const [locale, words] of Object.entries({ en, bg, ru, "zh-CN": zh, es, de })) {
    await context.addCookies([{ name: "atelier-locale", value: locale, url: baseURL ?? "" }]);
    await test.step(locale, async () => {
      await page.setViewportSize({ width: 1_440, height: 900 });
      // Another one for each language: the first may have ended.
      await upscaleOne();
      await page.goto("/jobs");
      const rows = page.getByRole("list", { name: words.jobs.list }).getByRole("listitem");
      await expect(rows).toHaveCount(submitted);
      // Not the menu of phones, which has their number as well.
      await expect(page.locator("button[aria-expanded]:visible", { hasText: /\d/ })).toBeVisible();
      expect(await cutWords(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await cutWords(page)).toEqual([]);
      for (const address of ["/wardrobe", "/lookbook"]) {
        await page.goto(address);
        await expect(page.locator("main img")).not.toHaveCount(0);
        expect(await cutWords(page), address).toEqual([]);
      }
    });
  }
});

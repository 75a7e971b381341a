import {
  createTestServices,
  openAccount,
  openTestBrowser,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getAccount, resolveCaller, setLocale, wordsFor } from "./index.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const german = { "accept-language": "de-CH,de;q=0.9" };

async function who(headers: Headers) {
  const caller = await resolveCaller(opened.services, headers);
  if (!caller) throw new Error("no session");
  const account = await getAccount(opened.services, caller);
  return { userId: caller.userId, chosen: account?.locale };
}
const mailLocale = async (userId: string) => (await wordsFor(opened.services, userId)).locale;

test("mails speak the language of the last browser until the user chooses one", async () => {
  const email = "language@example.com";
  const { headers } = await openAccount(opened.services, email);
  const { userId, chosen } = await who(headers);
  expect(chosen).toBeNull();
  expect(await mailLocale(userId)).toBe("en");
  const abroad = openTestBrowser(opened.services);
  await abroad.auth("/sign-in/email", { email, password: testPassword }, german);
  expect(await mailLocale(userId)).toBe("de");
  await setLocale(opened.services, { userId, locale: "zh-CN" });
  expect(await mailLocale(userId)).toBe("zh-CN");
  await abroad.auth("/sign-in/email", { email, password: testPassword }, german);
  expect(await who(abroad.headers)).toEqual({ userId, chosen: "zh-CN" });
  await setLocale(opened.services, { userId, locale: null });
  expect(await mailLocale(userId)).toBe("de");
});

test("the language that a visitor chose becomes the guest's and then the new account's", async () => {
  const browser = openTestBrowser(opened.services);
  await browser.auth("/sign-in/anonymous", {}, { cookie: "atelier-locale=bg", ...german });
  expect((await who(browser.headers)).chosen).toBe("bg");
  await browser.auth("/sign-up/email", { email: "bg@example.com", password: testPassword, name: "B" });
  expect((await who(browser.headers)).chosen).toBe("bg");
});

test("a guest's language does not replace the one of the account that the guest signs in with", async () => {
  const email = "kept@example.com";
  const account = await openAccount(opened.services, email);
  const { userId } = await who(account.headers);
  await setLocale(opened.services, { userId, locale: "es" });
  const browser = openTestBrowser(opened.services);
  await browser.auth("/sign-in/anonymous", {}, { cookie: "atelier-locale=ru" });
  await browser.auth("/sign-in/email", { email, password: testPassword });
  expect(await who(browser.headers)).toEqual({ userId, chosen: "es" });
});

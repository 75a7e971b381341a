import { headers } from "next/headers";
import { getRequestConfig } from "next-intl/server";
import { asLocale, readLocale, sourceLocale } from "@atelier/server/locales";
import { loadMessages } from "@atelier/server/words";

/** The language of a page: that of the account, which its browser has as a cookie, else what the browser asks for. */
// oxlint-disable-next-line import/no-default-export -- next-intl asks for it
export default getRequestConfig(async ({ locale: asked }) => {
  const locale = asLocale(asked) ?? readLocale(await headers()) ?? sourceLocale;
  return { locale, timeZone: "UTC", messages: await loadMessages(locale) };
});

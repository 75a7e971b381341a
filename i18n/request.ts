import { headers } from "next/headers";
import { getRequestConfig } from "next-intl/server";
import { asLocale, type Locale, readLocale, sourceLocale } from "@atelier/server/locales";
import { loadMessages, type Messages } from "@atelier/server/words";
import { compileCatalogue } from "../app/frame/format-message.ts";

const compiled = new Map<Locale, Promise<Messages>>();

/** The catalogue of a language, compiled once. */
function readCompiled(locale: Locale): Promise<Messages> {
  // Safe cast: to next-intl they are messages, which `formatMessage` takes.
  const known =
    compiled.get(locale) ??
    loadMessages(locale).then((texts) => compileCatalogue(texts) as unknown as Messages);
  compiled.set(locale, known);
  return known;
}

/** The language of a page: that of the account, which its browser has as a cookie, else what the browser asks for. */
// oxlint-disable-next-line import/no-default-export -- next-intl asks for it
export default getRequestConfig(async ({ locale: asked }) => {
  const locale = asLocale(asked) ?? readLocale(await headers()) ?? sourceLocale;
  return { locale, timeZone: "UTC", messages: await readCompiled(locale) };
});

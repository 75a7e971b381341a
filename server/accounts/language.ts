import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { asLocale, chosenLocale, type Locale, matchLocale, sourceLocale } from "../locales.ts";
import type { Services } from "../services.ts";
import { type Words, wordsIn } from "../words.ts";

const { users } = schema;

/** Stores the language that a user chose; null: again that of each browser. */
export async function setLocale(
  { db }: Pick<Services, "db">,
  { userId, locale }: { readonly userId: string; readonly locale: Locale | null },
): Promise<void> {
  await db.update(users).set({ locale }).where(eq(users.id, userId));
}

/**
 * Notes the language of the browser in which a session begins: mails speak it while the user has chosen none. A choice that
 * was made in the browser before there was an account becomes the account's, unless it has one.
 */
export async function noteBrowserLocale(
  { db }: Pick<Services, "db">,
  { userId, headers }: { readonly userId: string; readonly headers: Headers },
): Promise<void> {
  const chosen = chosenLocale(headers);
  const browserLocale = matchLocale(headers.get("accept-language"));
  if (chosen === null && browserLocale === null) return;
  await db
    .update(users)
    .set({
      locale: sql`coalesce(${users.locale}, ${chosen})`,
      browserLocale: sql`coalesce(${browserLocale}, ${users.browserLocale})`,
    })
    .where(eq(users.id, userId));
}

/** The texts for a user who is not at a browser. */
export async function wordsFor(services: Pick<Services, "db">, userId: string): Promise<Words> {
  return wordsIn(await readUserLocale(services, userId));
}

/** The language in which to write to a user who is not at a browser: chosen, else that of the last browser, else English. */
async function readUserLocale({ db }: Pick<Services, "db">, userId: string): Promise<Locale> {
  const [user] = await db
    .select({ chosen: users.locale, browser: users.browserLocale })
    .from(users)
    .where(eq(users.id, userId));
  // Another version of the studio may have stored a language that this one lacks.
  return asLocale(user?.chosen) ?? asLocale(user?.browser) ?? sourceLocale;
}

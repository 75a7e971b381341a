import type { Metadata, Viewport } from "next";
import { getLocale, getMessages, getTranslations } from "next-intl/server";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { directionOf } from "@atelier/server/locales";
import { createCookie, readTheme, themeCookie } from "./frame/cookies.ts";
import { AppFrame } from "./frame/frame.tsx";
import { Providers } from "./frame/providers.tsx";
import { Words, wordsOf } from "./frame/words.tsx";
import { letsGuestsIn, sessionCookie } from "./server/proxy-env.ts";
import "./styles.css";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("meta");
  return { title: { default: t("title"), template: `%s · ${t("title")}` }, description: t("description") };
}

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  viewportFit: "cover",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#fbf9f6" },
    { media: "(prefers-color-scheme: dark)", color: "#110d0b" },
  ],
};

export default async function RootLayout({ children }: { readonly children: ReactNode }) {
  const [jar, locale, messages] = await Promise.all([cookies(), getLocale(), getMessages()]);
  const hasSession = jar.getAll().some((cookie) => sessionCookie.test(cookie.name));
  return (
    <html lang={locale} dir={directionOf(locale)} data-theme={readTheme(jar.get(themeCookie)?.value)}>
      <body>
        <Providers locale={locale} words={wordsOf("app/layout.tsx", messages)} hasSession={hasSession}>
          {hasSession || letsGuestsIn() ? (
            <Words of="app/frame/frame.tsx">
              <AppFrame hadCreate={jar.has(createCookie)}>{children}</AppFrame>
            </Words>
          ) : (
            <main>{children}</main>
          )}
        </Providers>
      </body>
    </html>
  );
}

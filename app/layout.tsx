import type { Metadata, Viewport } from "next";
import { getLocale, getMessages, getTranslations } from "next-intl/server";
import { cookies, headers } from "next/headers";
import type { ReactNode } from "react";
import { directionOf } from "@atelier/server/locales";
import { createCookie, readTheme, themeCookie } from "./client/cookies.ts";
import { AppFrame } from "./frame/frame.tsx";
import { Providers } from "./frame/providers.tsx";
import { shownAtOnceScript } from "./frame/shown-at-once.ts";
import { translatedScript } from "./frame/translated.ts";
import { Words, wordsOf } from "./parts/words.tsx";
import { firstKeysScript } from "./palette/first-keys.ts";
import { findSession, letsGuestsIn, nonceOf } from "./server/proxy-env.ts";
import { takeWorkerScript } from "./shared/take-worker.ts";
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
  const [jar, sent, locale, messages] = await Promise.all([cookies(), headers(), getLocale(), getMessages()]);
  const nonce = nonceOf(sent.get("content-security-policy"));
  const session = findSession(jar.getAll());
  // Under the earlier name the page asks for its session first, which gives it today's.
  const hasSession = session?.isEarlier === false;
  const hasFrame = session !== null || letsGuestsIn();
  // Always there, so that the browser never makes one, which would not run.
  const ofFrame = hasFrame ? `${takeWorkerScript()}${firstKeysScript()}` : "";
  const script = { __html: shownAtOnceScript + translatedScript() + ofFrame };
  return (
    <html lang={locale} dir={directionOf(locale)} data-theme={readTheme(jar.get(themeCookie)?.value)}>
      <body>
        {/* With its cookies: a proxy in front that asks for a sign-in would answer without them by its own page. */}
        <link rel="manifest" href="/manifest.webmanifest" crossOrigin="use-credentials" />
        <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={script} />
        <Providers locale={locale} words={wordsOf("app/layout.tsx", messages)} hasSession={hasSession}>
          {hasFrame ? (
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

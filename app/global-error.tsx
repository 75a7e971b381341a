"use client";
import { useState } from "react";
import { asLocale, sourceLocale } from "@atelier/server/locales";
import words from "../i18n/broken-page.json" with { type: "json" };
import { buttonStyle } from "./ui/button.tsx";
import "./styles.css";

interface Props {
  readonly reset: () => void;
}

/** Replaces the whole document when the frame itself fails, so no provider is available. */
export default function GlobalError({ reset }: Props) {
  // What the document had until now.
  const [locale] = useState(
    () => asLocale(typeof document === "undefined" ? null : document.documentElement.lang) ?? sourceLocale,
  );
  const { brokenTitle, brokenText, again } = words[locale];
  return (
    <html lang={locale}>
      <body>
        <main className="mx-auto flex max-w-[44ch] flex-col items-center gap-3 px-4 py-32 text-center">
          <h1 className="text-xl">{brokenTitle}</h1>
          <p className="text-sm text-quiet">{brokenText}</p>
          <button type="button" onClick={reset} className={buttonStyle("plain")}>
            {again}
          </button>
        </main>
      </body>
    </html>
  );
}

"use client";
import messages from "../messages/en.json" with { type: "json" };
import { buttonStyle } from "./ui/button.tsx";
import "./styles.css";

interface Props {
  readonly reset: () => void;
}

/** Replaces the whole document when the frame itself fails, so no provider is available. */
export default function GlobalError({ reset }: Props) {
  const { brokenTitle, brokenText, again } = messages.pageErrors;
  return (
    <html lang="en">
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

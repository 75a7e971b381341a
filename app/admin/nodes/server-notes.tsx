"use client";
import type { ServerFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";

/** What a server can run of ours, what it lacks for the rest, and what last went wrong. */
export function ServerNotes({ server: { needs, missing, lastError } }: { readonly server: ServerFigures }) {
  const t = useTranslations("admin.servers");
  const lacking = Object.entries(missing);
  return (
    <>
      <span className="block text-quiet" title={needs.join("\n")}>
        {t("canRun", { count: needs.length })}
      </span>
      {lastError === null ? null : <span className="block break-words text-fail">{lastError}</span>}
      {lacking.length === 0 ? null : (
        <details>
          <summary className="w-fit text-quiet hover:text-ink">
            {t("missing", { count: lacking.length })}
          </summary>
          <ul className="mt-1.5 flex max-w-[68ch] flex-col gap-1">
            {lacking.map(([workflow, what]) => (
              <li key={workflow} className="break-words">
                {workflow}
                <span className="text-quiet">{`: ${what.join(", ")}`}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

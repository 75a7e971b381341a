"use client";
import type { Overview } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useFailureText } from "../../data/use-failure-text.ts";
import { Panel } from "../parts/panel.tsx";

/** Why jobs failed, the most frequent cause first, each with the way to its jobs. */
export function FailuresPanel({ overview: { failures, window } }: { readonly overview: Overview }) {
  const t = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const textOf = useFailureText();
  const most = Math.max(1, ...failures.map(({ count }) => count));
  return (
    <Panel title={t("failures")}>
      {failures.length === 0 ? (
        <p className="text-xs text-quiet">{t("noFailures", { window: admin(`inWindows.${window}`) })}</p>
      ) : (
        <ul className="flex flex-col gap-2.5">
          {failures.map(({ code, count }) => (
            <li key={code}>
              <Link
                href={`/admin/jobs?status=failed&code=${code}`}
                title={textOf({ code, message: "" }).title}
                className="block text-xs underline-offset-4 hover:underline"
              >
                <span className="tabular flex justify-between gap-4">
                  <span className="truncate">{code.replaceAll("_", " ")}</span>
                  {count}
                </span>
                <span aria-hidden className="mt-1 block h-[3px] rounded-full bg-line">
                  <span
                    className="block h-full rounded-full bg-fail"
                    style={{ width: `${(count / most) * 100}%` }}
                  />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

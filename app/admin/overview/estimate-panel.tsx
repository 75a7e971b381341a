"use client";
import type { Overview } from "@atelier/server/monitoring";
import { useFormatter, useTranslations } from "next-intl";
import { Panel } from "../parts/panel.tsx";
import { formatSpan } from "../parts/span.ts";

/** How well the waiting times that people were told came true. */
export function EstimatePanel({ overview: { estimate, window } }: { readonly overview: Overview }) {
  const t = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const format = useFormatter();
  const { told, within, medianErrorMs } = estimate;
  const inWindow = admin(`inWindows.${window}`);
  return (
    <Panel title={t("estimate")}>
      {within === null ? (
        <p className="text-xs text-quiet">{t("noEstimate", { window: inWindow })}</p>
      ) : (
        <dl className="tabular flex flex-col gap-4 text-xs">
          <div className="flex flex-col-reverse">
            <dt className="text-quiet">
              {t("within")}
              <span className="block">{t("told", { count: told, window: inWindow })}</span>
            </dt>
            <dd className="text-lg">
              {format.number(within, { style: "percent", maximumFractionDigits: 1 })}
            </dd>
          </div>
          <div className="flex flex-col-reverse">
            <dt className="text-quiet">{t("error")}</dt>
            <dd className="text-lg">{medianErrorMs === null ? "–" : formatSpan(medianErrorMs)}</dd>
          </div>
        </dl>
      )}
    </Panel>
  );
}

"use client";
import type { FigureWindow } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { Segmented } from "../../ui/segmented.tsx";

const names = ["1h", "24h", "7d"] as const satisfies readonly FigureWindow[];

/** The window of time of the address; an hour without one. */
export function useWindow(): FigureWindow {
  const { params } = useSearchFilter();
  return names.find((name) => name === params.get("window")) ?? "1h";
}

export function WindowChoice() {
  const t = useTranslations("admin");
  const { set } = useSearchFilter();
  return (
    <Segmented
      label={t("window")}
      value={useWindow()}
      options={names.map((value) => ({ value, label: t(`windows.${value}`) }))}
      onChange={(value) => set("window", value === "1h" ? null : value)}
    />
  );
}

"use client";
import { useTranslations } from "next-intl";
import { useSyncExternalStore } from "react";
import { applyTheme, readTheme, type Theme, themes } from "../frame/theme.ts";
import { Segmented } from "../ui/segmented.tsx";

const listeners = new Set<() => void>();

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
function choose(theme: Theme): void {
  applyTheme(theme);
  for (const listener of listeners) listener();
}
const current = () => readTheme(document.documentElement.dataset.theme);

export function ThemeChoice() {
  const t = useTranslations("settings");
  const theme = useSyncExternalStore(watch, current, () => "system" as const);
  return (
    <Segmented
      label={t("appearance")}
      value={theme}
      onChange={choose}
      options={themes.map((value) => ({ value, label: t(`themes.${value}`) }))}
    />
  );
}

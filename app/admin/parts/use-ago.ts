"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { formatAge } from "./span.ts";

/** An age as words: `4 s ago`; a dash for nothing. */
export function useAgo(): (ms: number | null) => string {
  const t = useTranslations("admin");
  return useCallback((ms) => (ms === null ? t("none") : t("ago", { span: formatAge(ms) })), [t]);
}

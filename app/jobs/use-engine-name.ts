"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";

/** What an engine is called in words; its own name when there are none. */
export function useEngineName(): (engine: string) => string {
  const t = useTranslations("engines");
  return useCallback(
    (engine) => {
      const key = engine as "local";
      return t.has(key) ? t(key) : engine;
    },
    [t],
  );
}

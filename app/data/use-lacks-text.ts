"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { OfferedWorkflow } from "./use-workflows.ts";

const named = 2;

/** What stands in the way of a workflow, in words; null when it can run now. */
export function useLacksText(): (workflow: OfferedWorkflow) => string | null {
  const t = useTranslations("workflows");
  return useCallback(
    ({ isLive, missing, vramGib }) => {
      if (isLive) return null;
      if (missing.length === 0) return t("noServer", { gib: vramGib });
      const what = missing.slice(0, named).join(", ");
      return missing.length > named
        ? t("lacksMore", { what, count: missing.length - named })
        : t("lacks", { what });
    },
    [t],
  );
}

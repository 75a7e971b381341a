"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { type RoundTime, spanOf } from "../waiting-text.ts";

type Range = readonly [low: number, high: number];

/** Ranges in ms as words: `about 20 s`, `8 to 15 s`, `40 s to 2 min`. */
export function useTimeText() {
  const t = useTranslations("waiting");
  const time = useCallback(({ value, unit }: RoundTime) => t(`units.${unit}`, { value }), [t]);
  const range = useCallback(
    (given: Range): string | null => {
      const span = spanOf(given);
      if (span === null) return null;
      const high = time(span.high);
      if (span.isOne) return t("about", { time: high });
      const low = span.low.unit === span.high.unit ? String(span.low.value) : time(span.low);
      return t("between", { low, high });
    },
    [t, time],
  );
  const starts = useCallback(
    (waitMs: Range) => {
      const text = range(waitMs);
      return text === null ? t("now") : t("starts", { time: text });
    },
    [range, t],
  );
  const runs = useCallback(
    (runMs: Range) => t("runs", { time: range(runMs) ?? range([1_000, 1_000]) ?? "" }),
    [range, t],
  );
  return { starts, runs };
}

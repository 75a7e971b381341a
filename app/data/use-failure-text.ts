"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { Failure } from "../client/failures.ts";
import { hasOwnAdvice } from "./has-own-advice.ts";

export interface FailureText {
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
}

/** Words for a failure: what happened, and what to do. */
export function useFailureText(): (failure: Failure) => FailureText {
  const t = useTranslations("errors");
  return useCallback(
    (failure) => {
      const key = failure.code as "internal";
      if (t.has(`${key}.title`)) {
        const advice = hasOwnAdvice(failure) ? failure.message : t(`${key}.advice`);
        return { title: t(`${key}.title`), advice };
      }
      return { title: t("internal.title"), advice: failure.message || t("internal.advice") };
    },
    [t],
  );
}

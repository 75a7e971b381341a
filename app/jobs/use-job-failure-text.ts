"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { Failure } from "../client/failures.ts";
import { type FailureText, useFailureText } from "../data/use-failure-text.ts";

/** Words for why a job failed. A bad request is none of the page's: the engine says what it cannot do. */
export function useJobFailureText(): (failure: Failure) => FailureText {
  const t = useTranslations("jobs");
  const textOf = useFailureText();
  return useCallback(
    (failure) =>
      failure.code === "bad_request" && failure.message !== ""
        ? { title: t("refused"), advice: failure.message }
        : textOf(failure),
    [t, textOf],
  );
}

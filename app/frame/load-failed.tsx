"use client";
import { useTranslations } from "next-intl";
import { failureOf } from "../client/failures.ts";
import { useFailureText } from "../data/use-failure-text.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";

interface Props {
  readonly error: unknown;
  readonly onRetry: () => void;
}

export function LoadFailed({ error, onRetry }: Props) {
  const t = useTranslations("common");
  const { title, advice } = useFailureText()(failureOf(error));
  return (
    <EmptyState title={title} text={advice}>
      <Button onClick={onRetry}>{t("tryAgain")}</Button>
    </EmptyState>
  );
}

"use client";
import { useTranslations } from "next-intl";
import { Button } from "./ui/button.tsx";
import { EmptyState } from "./ui/display.tsx";

interface Props {
  readonly reset: () => void;
}

export default function PageError({ reset }: Props) {
  const t = useTranslations("pageErrors");
  return (
    <>
      <h1 className="sr-only">{t("brokenTitle")}</h1>
      <EmptyState title={t("brokenTitle")} text={t("brokenText")}>
        <Button onClick={reset}>{t("again")}</Button>
      </EmptyState>
    </>
  );
}

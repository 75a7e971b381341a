"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { buttonStyle } from "./ui/button.tsx";
import { EmptyState } from "./ui/display.tsx";

export default function NotFound() {
  const t = useTranslations("pageErrors");
  return (
    <>
      <h1 className="sr-only">{t("notFoundTitle")}</h1>
      <EmptyState title={t("notFoundTitle")} text={t("notFoundText")}>
        <Link href="/" className={buttonStyle("plain")}>
          {t("toStudio")}
        </Link>
      </EmptyState>
    </>
  );
}

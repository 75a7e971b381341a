"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { buttonStyle } from "../../ui/button-style.ts";
import { SettingsSection } from "../section.tsx";

export function GuestSection() {
  const t = useTranslations("settings");
  return (
    <SettingsSection id="account" title={t("account")} text={t("guestText")}>
      <div className="flex flex-wrap gap-2">
        <Link href="/sign-in?new=1" className={buttonStyle("primary")}>
          {t("makeAccount")}
        </Link>
        <Link href="/sign-in" className={buttonStyle("plain")}>
          {t("signIn")}
        </Link>
      </div>
    </SettingsSection>
  );
}

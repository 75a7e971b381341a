import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../parts/page-parts.tsx";
import { Settings } from "./settings.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.settings") };
}

export default function SettingsPage() {
  const t = useTranslations("frame");
  return (
    <Words of="app/settings/page.tsx">
      <PageHeader title={t("pages.settings")} />
      <Settings />
    </Words>
  );
}

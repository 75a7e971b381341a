import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../parts/page-parts.tsx";
import { OverviewFigures } from "./overview.tsx";
import { WindowChoice } from "./live.tsx";
export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.overview") };
}

export default function AdminOverviewPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.overview")}>
        <WindowChoice />
      </PageHeader>
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <OverviewFigures />
      </div>
    </>
  );
}

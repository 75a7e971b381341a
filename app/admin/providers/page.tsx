import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { ProviderOverview } from "./providers.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.providers") };
}

export default function AdminProvidersPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.providers")} />
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <ProviderOverview />
      </div>
    </>
  );
}

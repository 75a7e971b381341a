import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { PageHeader } from "../../parts/page-parts.tsx";
import { Deliveries } from "./deliveries.tsx";
import { Words } from "../../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.deliveries") };
}

export default function AdminDeliveriesPage() {
  const t = useTranslations("admin");
  return (
    <Words of="app/admin/deliveries/page.tsx">
      <PageHeader title={t("pages.deliveries")} />
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <Suspense>
          <Deliveries />
        </Suspense>
      </div>
    </Words>
  );
}

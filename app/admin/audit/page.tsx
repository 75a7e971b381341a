import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { AuditLog } from "./audit.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.audit") };
}

export default function AdminAuditPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.audit")} />
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <AuditLog />
      </div>
    </>
  );
}

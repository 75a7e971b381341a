import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { JobSearch } from "./search.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.jobs") };
}

export default function AdminJobsPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.jobs")} />
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <JobSearch />
      </div>
    </>
  );
}

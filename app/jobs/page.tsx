import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { PageHeader } from "../parts/page-parts.tsx";
import { JobsList } from "./jobs-list.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.jobs") };
}

export default function JobsPage() {
  const t = useTranslations("frame");
  return (
    <Words of="app/jobs/page.tsx">
      <PageHeader title={t("pages.jobs")} />
      <Suspense>
        <JobsList />
      </Suspense>
    </Words>
  );
}

import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { PageHeader } from "../parts/page-parts.tsx";
import { Assistant, AssistantActions } from "./assistant.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.assistant") };
}

export default function AssistantPage() {
  const t = useTranslations("frame");
  return (
    <div className="-mb-36 flex min-h-[calc(100dvh-var(--tabs))] flex-col wide:-mb-16">
      <PageHeader title={t("pages.assistant")}>
        <AssistantActions />
      </PageHeader>
      <Suspense>
        <Assistant />
      </Suspense>
    </div>
  );
}

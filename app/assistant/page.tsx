import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { PageHeader } from "../parts/page-parts.tsx";
import { Assistant, AssistantActions } from "./assistant.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.assistant") };
}

export default function AssistantPage() {
  const t = useTranslations("frame");
  return (
    <Words of="app/assistant/page.tsx">
      {/* Instead of the room that the frame leaves below a page: as much as the tabs of a phone take. */}
      <div className="mb-[calc(var(--tabs)-144px)] flex min-h-[calc(100dvh-var(--tabs))] flex-col wide:-mb-16">
        <div className="z-10 bg-paper [@media(height>=600px)]:sticky [@media(height>=600px)]:top-0">
          <PageHeader title={t("pages.assistant")}>
            <AssistantActions />
          </PageHeader>
        </div>
        <Suspense>
          <Assistant />
        </Suspense>
      </div>
    </Words>
  );
}

import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { WindowChoice } from "../live.tsx";
import { AssistantFiguresPanels } from "./figures.tsx";
import { Prompts } from "./prompts.tsx";
import { Questions } from "./questions.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.assistant") };
}

export default function AdminAssistantPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.assistant")}>
        <WindowChoice />
      </PageHeader>
      <div className="flex flex-col gap-10 px-4 pb-10 sm:px-6 wide:px-8">
        <AssistantFiguresPanels />
        <Questions />
        <Prompts />
      </div>
    </>
  );
}

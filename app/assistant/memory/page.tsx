import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { Memory } from "./memory.tsx";
import { Words } from "../../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("memory");
  return { title: t("title") };
}

export default function MemoryPage() {
  const t = useTranslations("memory");
  return (
    <Words of="app/assistant/memory/page.tsx">
      <PageHeader title={t("title")} />
      <Memory />
    </Words>
  );
}

import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { QueueList } from "./queues.tsx";
import { WindowChoice } from "../live.tsx";
export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.queues") };
}

export default function AdminQueuesPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.queues")}>
        <WindowChoice />
      </PageHeader>
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <QueueList />
      </div>
    </>
  );
}

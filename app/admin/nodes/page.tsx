import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { NodeList } from "./nodes.tsx";
import { WorkflowList } from "./workflows.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.nodes") };
}

export default function AdminNodesPage() {
  const t = useTranslations("admin");
  return (
    <>
      <PageHeader title={t("pages.nodes")} />
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <NodeList />
        <WorkflowList />
      </div>
    </>
  );
}

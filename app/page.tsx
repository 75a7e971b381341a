import { useTranslations } from "next-intl";
import { Suspense } from "react";
import { Hints } from "./frame/hints.tsx";
import { AssistantSheet } from "./assistant/sheet.tsx";
import { PageHeader } from "./parts/page-parts.tsx";
import { Studio } from "./studio/studio.tsx";

export default function StudioPage() {
  const t = useTranslations("frame");
  return (
    <>
      <PageHeader title={t("pages.studio")}>
        <AssistantSheet />
      </PageHeader>
      <Suspense>
        <Hints />
        <Studio />
      </Suspense>
    </>
  );
}

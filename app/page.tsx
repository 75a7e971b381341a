import { getTranslations } from "next-intl/server";
import { cookies } from "next/headers";
import { Suspense } from "react";
import { hintsCookie } from "./client/cookies.ts";
import { Hints } from "./studio/hints.tsx";
import { AssistantSheet } from "./assistant/sheet.tsx";
import { PageHeader } from "./parts/page-parts.tsx";
import { Studio } from "./studio/studio.tsx";
import { Words } from "./parts/words.tsx";

export default async function StudioPage() {
  const [t, jar] = await Promise.all([getTranslations("frame"), cookies()]);
  return (
    <Words of="app/page.tsx">
      <PageHeader title={t("pages.studio")}>
        <AssistantSheet />
      </PageHeader>
      <Suspense>
        <Hints isNew={!jar.has(hintsCookie)} />
        <Studio />
      </Suspense>
    </Words>
  );
}

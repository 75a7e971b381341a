import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { PictureSettings } from "./carried/picture-settings.tsx";
import { PageHeader } from "../parts/page-parts.tsx";
import { Create } from "./create.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.create") };
}

export default function CreatePage() {
  const t = useTranslations("frame");
  return (
    <Words of="app/create/page.tsx">
      <PageHeader title={t("pages.create")}>
        <PictureSettings />
      </PageHeader>
      <Suspense>
        <Create />
      </Suspense>
    </Words>
  );
}

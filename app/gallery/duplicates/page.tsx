import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Words } from "../../parts/words.tsx";
import { Duplicates } from "./duplicates.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("duplicates");
  return { title: t("title") };
}

export default function DuplicatesPage() {
  return (
    <Words of="app/gallery/duplicates/page.tsx">
      <Suspense>
        <Duplicates />
      </Suspense>
    </Words>
  );
}

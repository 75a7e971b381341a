import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Words } from "../parts/words.tsx";
import { Shared } from "./shared.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("shared");
  return { title: t("title") };
}

export default function SharedPage() {
  return (
    <Words of="app/shared/page.tsx">
      <Suspense>
        <Shared />
      </Suspense>
    </Words>
  );
}

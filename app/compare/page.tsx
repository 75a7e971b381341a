import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Words } from "../parts/words.tsx";
import { Compare } from "./compare.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("compare");
  return { title: t("title") };
}

export default function ComparePage() {
  return (
    <Words of="app/compare/page.tsx">
      <Suspense>
        <Compare />
      </Suspense>
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Wardrobe } from "./wardrobe.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.wardrobe") };
}

export default function WardrobePage() {
  return (
    <Suspense>
      <Wardrobe />
    </Suspense>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Wardrobe } from "./wardrobe.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.wardrobe") };
}

export default function WardrobePage() {
  return (
    <Words of="app/wardrobe/page.tsx">
      <Suspense>
        <Wardrobe />
      </Suspense>
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Origin } from "./origin.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("origin");
  return { title: t("title") };
}

export default function OriginPage() {
  return (
    <Words of="app/origin/page.tsx">
      <Origin />
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Lookbook } from "./lookbook.tsx";
import { Words } from "../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("lookbook");
  return { title: t("title") };
}

export default function LookbookPage() {
  return (
    <Words of="app/lookbook/page.tsx">
      <Lookbook />
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Words } from "../parts/words.tsx";
import { Several } from "./several/several.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("several");
  return { title: t("title") };
}

export default function EditSeveralPage() {
  return (
    <Words of="app/edit/page.tsx">
      <Several />
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { Gallery } from "./gallery.tsx";
import { Words } from "../frame/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.gallery") };
}

export default function GalleryPage() {
  return (
    <Words of="app/gallery/page.tsx">
      <Suspense>
        <Gallery />
      </Suspense>
    </Words>
  );
}

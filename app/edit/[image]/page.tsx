import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { isId } from "@atelier/server/platform";
import { Editor } from "../editor.tsx";
import { Words } from "../../parts/words.tsx";

interface Props {
  readonly params: Promise<{ readonly image: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("edit");
  return { title: t("title") };
}

export default async function EditPage({ params }: Props) {
  const { image } = await params;
  if (!isId(image)) notFound();
  return (
    <Words of="app/edit/[image]/page.tsx">
      <Suspense>
        <Editor key={image} imageId={image} />
      </Suspense>
    </Words>
  );
}

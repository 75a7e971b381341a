import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { isId } from "@atelier/server/platform";
import { BatchPage } from "../batch-page.tsx";
import { Words } from "../../parts/words.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("batches");
  return { title: t("title") };
}

export default async function Page({ params }: Props) {
  const { id } = await params;
  if (!isId(id)) notFound();
  return (
    <Words of="app/batches/[id]/page.tsx">
      <Suspense>
        <BatchPage id={id} />
      </Suspense>
    </Words>
  );
}

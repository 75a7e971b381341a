import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
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
  return (
    <Words of="app/batches/[id]/page.tsx">
      <Suspense>
        <BatchPage id={id} />
      </Suspense>
    </Words>
  );
}

import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { isId } from "@atelier/server/platform";
import { Words } from "../../parts/words.tsx";
import { SharedBoard } from "../shared-board.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("boards");
  return { title: t("board") };
}

export default async function Page({ params }: Props) {
  const { id } = await params;
  if (!isId(id)) notFound();
  return (
    <Words of="app/boards/[id]/page.tsx">
      <Suspense>
        <SharedBoard id={id} />
      </Suspense>
    </Words>
  );
}

import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { isId } from "@atelier/server/platform";
import { AnyJobStory } from "../story.tsx";
import { Words } from "../../../parts/words.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("story");
  return { title: t("title") };
}

export default async function AdminJobPage({ params }: Props) {
  const { id } = await params;
  if (!isId(id)) notFound();
  return (
    <Words of="app/admin/jobs/[id]/page.tsx">
      <AnyJobStory id={id} />
    </Words>
  );
}

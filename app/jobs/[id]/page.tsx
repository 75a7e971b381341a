import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { isId } from "@atelier/server/platform";
import { JobStory } from "../story.tsx";
import { Words } from "../../parts/words.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("story");
  return { title: t("title") };
}

export default async function JobPage({ params }: Props) {
  const { id } = await params;
  if (!isId(id)) notFound();
  return (
    <Words of="app/jobs/[id]/page.tsx">
      <JobStory id={id} />
    </Words>
  );
}

import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
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
  return (
    <Words of="app/jobs/[id]/page.tsx">
      <JobStory id={id} />
    </Words>
  );
}

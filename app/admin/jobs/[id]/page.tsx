import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { AnyJobStory } from "../story.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("story");
  return { title: t("title") };
}

export default async function AdminJobPage({ params }: Props) {
  const { id } = await params;
  return <AnyJobStory id={id} />;
}

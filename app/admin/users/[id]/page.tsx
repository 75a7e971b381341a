import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { isId } from "@atelier/server/platform";
import { UserPage } from "../user.tsx";
import { Words } from "../../../parts/words.tsx";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.users") };
}

export default async function AdminUserPage({ params }: Props) {
  const { id } = await params;
  if (!isId(id)) notFound();
  return (
    <Words of="app/admin/users/[id]/page.tsx">
      <UserPage id={id} />
    </Words>
  );
}

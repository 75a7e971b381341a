import type { Metadata } from "next";
import { useTranslations } from "next-intl";
import { getTranslations } from "next-intl/server";
import { PageHeader } from "../../parts/page-parts.tsx";
import { Invitations } from "./invitations.tsx";
import { FactorRule, UserList } from "./users.tsx";
import { Words } from "../../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("admin");
  return { title: t("pages.users") };
}

export default function AdminUsersPage() {
  const t = useTranslations("admin");
  return (
    <Words of="app/admin/users/page.tsx">
      <PageHeader title={t("pages.users")} />
      <div className="flex flex-col gap-8 px-4 pb-10 sm:px-6 wide:px-8">
        <Invitations />
        <FactorRule />
        <UserList />
      </div>
    </Words>
  );
}

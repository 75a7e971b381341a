import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { NewPassword } from "./new-password.tsx";
import { Words } from "../../parts/words.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("signIn.newPassword");
  return { title: t("title") };
}

/** Where the link leads that an admin hands to a user who forgot the password. */
export default function NewPasswordPage() {
  return (
    <Words of="app/sign-in/new-password/page.tsx">
      <NewPassword />
    </Words>
  );
}

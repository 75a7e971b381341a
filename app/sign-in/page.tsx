import { readEntry, type Entry } from "@atelier/server/accounts";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Suspense } from "react";
import { letsGuestsIn } from "../server/proxy-env.ts";
import { getServices } from "../server/services.ts";
import { SignInCard } from "./sign-in.tsx";
import { Words } from "../parts/words.tsx";

export const dynamic = "force-dynamic";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("signIn");
  return { title: t("title") };
}

/** While the services cannot be opened the page is shown all the same; a sign-in then fails with the reason. */
const unknown = (): Entry => ({
  signUp: letsGuestsIn() ? "open" : "closed",
  needsAdmin: false,
  passwords: true,
  providers: [],
});

export default async function SignInPage() {
  const entry = await getServices().then(readEntry, unknown);
  return (
    <Words of="app/sign-in/page.tsx">
      <Suspense>
        <SignInCard entry={entry} />
      </Suspense>
    </Words>
  );
}

"use client";
import type { Entry } from "@atelier/server/accounts";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { Segmented } from "../ui/segmented.tsx";
import { AccountForm } from "./account-form.tsx";
import { EntryFooter, EntryNote } from "./entry-notes.tsx";
import { useEntryToken } from "./use-entry-token.ts";

export type SignInMode = "signIn" | "create";

/** One card over a quiet picture: sign in, or make an account. */
export function SignInCard({ entry }: { readonly entry: Entry }) {
  const t = useTranslations("signIn");
  const token = useEntryToken(entry);
  const isNew = useSearchParams().has("new") || token !== null;
  const [chosen, setMode] = useState<SignInMode | null>(null);
  const canCreate = entry.signUp === "open" || token !== null;
  const mode = canCreate ? (chosen ?? (isNew ? "create" : "signIn")) : "signIn";
  return (
    <div className="relative flex min-h-dvh items-center overflow-hidden justify-center px-4 py-10 max-wide:-mb-36 max-wide:pb-24 wide:-mb-16">
      <img
        src="/samples/coffee.png"
        alt=""
        className="absolute inset-0 size-full scale-105 object-cover opacity-40 blur-[3px] saturate-[0.7]"
      />
      <section
        aria-labelledby="sign-in-title"
        className="relative w-full max-w-[400px] rounded-card bg-raised p-6 shadow-float sm:p-8"
      >
        <h1 id="sign-in-title" className="text-xl">
          {t(`titles.${mode}`)}
        </h1>
        <p className="mt-1.5 mb-6 text-sm text-quiet">{t(`texts.${mode}`)}</p>
        <EntryNote entry={entry} token={token} />
        {canCreate ? (
          <Segmented
            label={t("choice")}
            value={mode}
            onChange={setMode}
            options={[
              { value: "signIn", label: t("modes.signIn") },
              { value: "create", label: t("modes.create") },
            ]}
          />
        ) : null}
        <AccountForm key={mode} mode={mode} token={token} />
        <EntryFooter entry={entry} token={token} />
      </section>
    </div>
  );
}

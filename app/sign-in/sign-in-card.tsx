"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { Segmented } from "../ui/segmented.tsx";
import { AccountForm } from "./account-form.tsx";

export type SignInMode = "signIn" | "create";

/** One card over a quiet picture: sign in, or make an account. */
export function SignInCard() {
  const t = useTranslations("signIn");
  const isNew = useSearchParams().has("new");
  const [mode, setMode] = useState<SignInMode>(isNew ? "create" : "signIn");
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
        <Segmented
          label={t("choice")}
          value={mode}
          onChange={setMode}
          options={[
            { value: "signIn", label: t("modes.signIn") },
            { value: "create", label: t("modes.create") },
          ]}
        />
        <AccountForm key={mode} mode={mode} />
        <p className="mt-6 border-t border-line pt-4 text-xs text-quiet">
          {t("guest")}{" "}
          <Link href="/" className="text-ink underline underline-offset-4">
            {t("guestAction")}
          </Link>
        </p>
      </section>
    </div>
  );
}

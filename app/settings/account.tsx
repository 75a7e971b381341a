"use client";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { minPasswordLength, useAuthError } from "../sign-in/use-auth-error.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { toastDone } from "../ui/toasts.ts";
import { useChangePassword } from "./account/use-change-password.ts";

export function PasswordForm() {
  const t = useTranslations("settings");
  const textOf = useAuthError();
  const [currentPassword, setCurrent] = useState("");
  const [newPassword, setNew] = useState("");
  const change = useChangePassword(() => {
    setCurrent("");
    setNew("");
    toastDone(t("passwordChanged"));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ currentPassword, newPassword });
  };
  return (
    // POST: sent before the page is hydrated, a password must not end in the address.
    <form method="post" className="flex max-w-[420px] flex-col gap-4" onSubmit={submit}>
      <Field
        name="current-password"
        label={t("currentPassword")}
        type="password"
        autoComplete="current-password"
        required
        value={currentPassword}
        onValueChange={setCurrent}
        error={change.isError ? textOf(change.error) : null}
      />
      <Field
        name="new-password"
        label={t("newPassword")}
        type="password"
        autoComplete="new-password"
        required
        minLength={minPasswordLength}
        hint={t("passwordHint", { min: minPasswordLength })}
        value={newPassword}
        onValueChange={setNew}
      />
      <Button type="submit" className="self-start" disabled={change.isPending}>
        {t("changePassword")}
      </Button>
    </form>
  );
}

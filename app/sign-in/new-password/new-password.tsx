"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { sessionlessApi } from "../../client/api.ts";
import { failureOf, useFailureText } from "../../ui/failures.ts";
import { Button, buttonStyle } from "../../ui/button.tsx";
import { Field } from "../../ui/fields.tsx";
import { SignInFrame } from "../frame.tsx";
import { minPasswordLength } from "../../client/session.ts";

function subscribe(onChange: () => void): () => void {
  window.addEventListener("hashchange", onChange);
  return () => window.removeEventListener("hashchange", onChange);
}

/** The token in the URL fragment, which browsers do not send; null while it is not known. */
function useToken(): string | null {
  return useSyncExternalStore(
    subscribe,
    () => window.location.hash.slice(1),
    () => null,
  );
}

/** The text for a link that does not work any more, or for another failure. */
function useProblem(): (error: unknown) => string {
  const t = useTranslations("signIn.newPassword");
  const textOf = useFailureText();
  return (error) => {
    const failure = failureOf(error);
    if (failure.code === "not_found") return t("invalid");
    const { title, advice } = textOf(failure);
    return `${title}. ${advice}`;
  };
}

function PasswordForm({ token }: { readonly token: string }) {
  const t = useTranslations("signIn");
  const problemOf = useProblem();
  const [password, setPassword] = useState("");
  const save = useMutation({
    mutationFn: () => sessionlessApi.account.resetPassword.mutate({ token, password }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  if (save.isSuccess)
    return (
      <div role="status" className="flex flex-col gap-5">
        <p className="text-sm">{t("newPassword.done")}</p>
        <Link href="/sign-in" className={buttonStyle("primary", "large")}>
          {t("enter")}
        </Link>
      </div>
    );
  return (
    // POST, because a submit before hydration would put the password into the URL.
    <form method="post" onSubmit={submit} className="flex flex-col gap-4">
      <Field
        name="password"
        label={t("newPassword.label")}
        type="password"
        autoComplete="new-password"
        required
        minLength={minPasswordLength}
        hint={t("passwordHint", { min: minPasswordLength })}
        value={password}
        onValueChange={setPassword}
      />
      {save.isError ? (
        <p role="alert" className="text-xs text-fail">
          {problemOf(save.error)}
        </p>
      ) : null}
      <Button type="submit" look="primary" size="large" disabled={save.isPending} className="mt-1 w-full">
        {t("newPassword.save")}
      </Button>
    </form>
  );
}

/** Sets a new password by a one-time link, without a session. */
export function NewPassword() {
  const t = useTranslations("signIn.newPassword");
  const token = useToken();
  return (
    <SignInFrame title={t("title")} text={t("text")}>
      {token === "" ? <p className="text-sm text-fail">{t("invalid")}</p> : null}
      {token ? <PasswordForm token={token} /> : null}
    </SignInFrame>
  );
}

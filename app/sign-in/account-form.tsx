"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { authClient } from "../data/auth-client.ts";
import { announceAccountChange } from "../live/account-change.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import type { SignInMode } from "./sign-in-card.tsx";
import { minPasswordLength, useAuthError } from "./use-auth-error.ts";

export function AccountForm({ mode }: { readonly mode: SignInMode }) {
  const t = useTranslations("signIn");
  const textOf = useAuthError();
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const isNew = mode === "create";
  const enter = useMutation({
    mutationFn: async () => {
      const answer = isNew
        ? await authClient.signUp.email({ name: name.trim(), email, password })
        : await authClient.signIn.email({ email, password });
      if (answer.error !== null) throw answer.error;
    },
    onSuccess: () => announceAccountChange("/"),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate();
  };
  return (
    // POST: sent before the page is hydrated, a password must not end in the address.
    <form method="post" onSubmit={submit} className="mt-5 flex flex-col gap-4">
      {isNew ? (
        <Field
          name="name"
          label={t("name")}
          autoComplete="name"
          required
          maxLength={80}
          value={name}
          onValueChange={setName}
        />
      ) : null}
      <Field
        name="email"
        label={t("email")}
        type="email"
        autoComplete="email"
        required
        value={email}
        onValueChange={setEmail}
      />
      <Field
        name="password"
        label={t("password")}
        type="password"
        autoComplete={isNew ? "new-password" : "current-password"}
        required
        minLength={isNew ? minPasswordLength : undefined}
        hint={isNew ? t("passwordHint", { min: minPasswordLength }) : undefined}
        value={password}
        onValueChange={setPassword}
      />
      {enter.isError ? (
        <p role="alert" className="text-xs text-fail">
          {textOf(enter.error)}
        </p>
      ) : null}
      <Button type="submit" look="primary" size="large" disabled={enter.isPending} className="mt-1 w-full">
        {t(isNew ? "create" : "enter")}
      </Button>
    </form>
  );
}

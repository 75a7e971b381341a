"use client";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { AccountFields } from "./account-fields.tsx";
import type { SignInMode } from "./sign-in.tsx";
import { useAuthError } from "./use-auth-error.ts";
import { type Credentials, useEnter } from "./use-enter.ts";
import type { EntryToken } from "./use-entry-token.ts";

const blank: Credentials = { name: "", email: "", password: "" };

interface Props {
  readonly mode: SignInMode;
  readonly token: EntryToken | null;
}

export function AccountForm({ mode, token }: Props) {
  const t = useTranslations("signIn");
  const textOf = useAuthError();
  const [values, setValues] = useState(blank);
  const enter = useEnter(mode, token);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate(values);
  };
  return (
    // POST: sent before the page is hydrated, a password must not end in the address.
    <form method="post" onSubmit={submit} className="mt-5 flex flex-col gap-4">
      <AccountFields
        mode={mode}
        values={values}
        onChange={(changes) => setValues((before) => ({ ...before, ...changes }))}
      />
      {enter.isError ? (
        <p role="alert" className="text-xs text-fail">
          {textOf(enter.error)}
        </p>
      ) : null}
      <Button type="submit" look="primary" size="large" disabled={enter.isPending} className="mt-1 w-full">
        {t(mode === "create" ? "create" : "enter")}
      </Button>
    </form>
  );
}

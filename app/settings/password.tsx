"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, type ReactNode, useState } from "react";
import { api } from "../client/api.ts";
import { authClient, minPasswordLength } from "../client/session.ts";
import { useAuthError } from "../sign-in/errors.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { toastDone } from "../ui/toasts.tsx";
import {
  confirmWith,
  PasswordField,
  retype,
  type Security,
  useChangeProblem,
  useOtherWays,
  useRefresh,
} from "./passkeys.tsx";
import { SettingsSection } from "./section.tsx";

interface Passwords {
  readonly currentPassword: string;
  readonly newPassword: string;
}

/** Changes the password and ends every other session. */
function useChangePassword(onChanged: () => void) {
  return useMutation({
    mutationFn: async (passwords: Passwords) => {
      const { error } = await (
        await authClient()
      ).changePassword({ ...passwords, revokeOtherSessions: true });
      if (error !== null) throw error;
    },
    onSuccess: onChanged,
  });
}

interface FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function NewPasswordField({ value, onChange }: FieldProps) {
  const t = useTranslations("settings");
  return (
    <Field
      name="new-password"
      label={t("newPassword")}
      type="password"
      autoComplete="new-password"
      required
      minLength={minPasswordLength}
      hint={t("passwordHint", { min: minPasswordLength })}
      value={value}
      onValueChange={onChange}
    />
  );
}

function PasswordForm() {
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
    // POST, because a submit before hydration would put the password into the URL.
    <form method="post" className="flex max-w-[420px] flex-col gap-4" onSubmit={submit}>
      <Field
        name="current-password"
        label={t("currentPassword")}
        type="password"
        autoComplete="current-password"
        required
        value={currentPassword}
        onValueChange={retype(change, setCurrent)}
        error={change.isError ? textOf(change.error) : null}
      />
      <NewPasswordField value={newPassword} onChange={retype(change, setNew)} />
      <Button type="submit" className="self-start" disabled={change.isPending}>
        {t("changePassword")}
      </Button>
    </form>
  );
}

interface Props {
  readonly security: Security;
}

/** What goes with the password, and what is left to sign in with. */
function RemovalNotes({ security }: Props) {
  const t = useTranslations("security");
  const ways = useOtherWays(security);
  const own = security.passkeys.filter(({ place }) => place !== "elsewhere");
  const isOnly = own.length === 1 && security.providers.length === 0;
  return (
    <ul className="flex max-w-[60ch] list-disc flex-col gap-1 ps-4 text-xs text-quiet">
      <li>{t("removeWays", { ways })}</li>
      {security.hasApp ? <li>{t("removeApp")}</li> : null}
      {isOnly ? <li>{t("removeOnly")}</li> : null}
    </ul>
  );
}

interface ChangeProps extends Props {
  /** On the button that opens the form. */
  readonly label: string;
  /** On the one that sends it. */
  readonly yes: string;
  readonly done: string;
  readonly look?: "danger";
  readonly change: (password: string) => Promise<unknown>;
  readonly children: (field: FieldProps) => ReactNode;
}

/** A button that opens a form with one password, which Cancel forgets. */
function PasswordChange({ security, label, yes, done, look, change, children }: ChangeProps) {
  const t = useTranslations("security");
  const problemOf = useChangeProblem(security);
  const refresh = useRefresh();
  const [isOpen, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const sent = useMutation({
    mutationFn: () => change(password),
    onSuccess: () => {
      toastDone(done);
      return refresh();
    },
  });
  if (!isOpen)
    return (
      <Button {...(look ? { look } : {})} className="self-start" onClick={() => setOpen(true)}>
        {label}
      </Button>
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    sent.mutate();
  };
  const close = () => {
    setPassword("");
    sent.reset();
    setOpen(false);
  };
  return (
    <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-3">
      {children({ value: password, onChange: retype(sent, setPassword) })}
      {sent.isError ? (
        <p role="alert" className="text-xs text-fail">
          {problemOf(sent.error)}
        </p>
      ) : null}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" {...(look ? { look } : {})} disabled={sent.isPending}>
          {yes}
        </Button>
        <Button look="quiet" onClick={close}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

/** Asks for the password also in a new session: a stolen session must not be enough to remove it. */
function RemovePassword({ security }: Props) {
  const t = useTranslations("security");
  const remove = async (password: string) => {
    await confirmWith(password);
    await api.account.removePassword.mutate();
  };
  return (
    <PasswordChange
      security={security}
      label={t("removePassword")}
      yes={t("removePasswordYes")}
      done={t("passwordRemoved")}
      look="danger"
      change={remove}
    >
      {(field) => (
        <>
          <RemovalNotes security={security} />
          <PasswordField {...field} />
        </>
      )}
    </PasswordChange>
  );
}

/** The first password of an account that signs in otherwise. */
function AddPassword({ security }: Props) {
  const t = useTranslations("security");
  return (
    <PasswordChange
      security={security}
      label={t("addPassword")}
      yes={t("addPassword")}
      done={t("passwordAdded")}
      change={(password) => api.account.addPassword.mutate({ password })}
    >
      {(field) => <NewPasswordField {...field} />}
    </PasswordChange>
  );
}

/** The password of an account, or what signs in instead. */
export function PasswordSection({ security }: Props) {
  const t = useTranslations("settings");
  const words = useTranslations("security");
  const ways = useOtherWays(security);
  const { hasPassword, takesPasswords } = security;
  if (!hasPassword)
    return (
      <SettingsSection
        id="password"
        title={t("password")}
        text={words(takesPasswords ? "noPassword" : "passwordsOff")}
      >
        <div className="flex flex-col gap-4">
          <p className="max-w-[60ch] text-sm">{words("signsInWith", { ways: ways || "none" })}</p>
          {takesPasswords ? <AddPassword security={security} /> : null}
        </div>
      </SettingsSection>
    );
  return (
    <SettingsSection id="password" title={t("password")} text={t("passwordText")}>
      <div className="flex flex-col gap-6">
        <PasswordForm />
        {ways === "" ? (
          <p className="max-w-[60ch] text-xs text-quiet">{words("removeHint")}</p>
        ) : (
          <RemovePassword security={security} />
        )}
      </div>
    </SettingsSection>
  );
}

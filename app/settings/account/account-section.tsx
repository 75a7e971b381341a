"use client";
import { useTranslations } from "next-intl";
import { SettingsSection } from "../section.tsx";
import { NameForm } from "./name-form.tsx";
import { PasswordForm } from "../account.tsx";
import { SignOutButtons } from "./sign-out-buttons.tsx";

interface Props {
  readonly me: { readonly name: string; readonly email: string | null };
}

export function AccountSection({ me }: Props) {
  const t = useTranslations("settings");
  return (
    <>
      <SettingsSection id="account" title={t("account")} text={t("accountText", { email: me.email ?? "" })}>
        <NameForm name={me.name} />
      </SettingsSection>
      <SettingsSection id="password" title={t("password")} text={t("passwordText")}>
        <PasswordForm />
      </SettingsSection>
      <SettingsSection id="sessions" title={t("sessions")} text={t("sessionsText")}>
        <SignOutButtons />
      </SettingsSection>
    </>
  );
}

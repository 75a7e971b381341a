"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { authClient } from "../client/session.ts";
import { Button, buttonStyle } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { Field } from "../ui/fields.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";
import { SecuritySections } from "./security.tsx";
import { SessionsSection } from "./sessions.tsx";

function NameForm({ name: current }: { readonly name: string }) {
  const t = useTranslations("settings");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [name, setName] = useState(current);
  const save = useMutation({
    mutationFn: async () => {
      const { error } = await (await authClient()).updateUser({ name: name.trim() });
      if (error !== null) throw error;
    },
    onSuccess: () => {
      toastDone(t("saved"));
      return queries.invalidateQueries({ queryKey: keys.me });
    },
    onError,
  });
  return (
    <form
      className="flex max-w-[420px] flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Field
        name="name"
        label={t("name")}
        autoComplete="name"
        required
        maxLength={80}
        value={name}
        onValueChange={setName}
      />
      <Button
        type="submit"
        className="self-start"
        disabled={save.isPending || name.trim() === "" || name === current}
      >
        {t("saveName")}
      </Button>
    </form>
  );
}

interface Props {
  readonly me: {
    readonly name: string;
    readonly email: string | null;
    readonly providers: readonly string[];
  };
}

export function AccountSection({ me }: Props) {
  const t = useTranslations("settings");
  const format = useFormatter();
  return (
    <>
      <SettingsSection id="account" title={t("account")} text={t("accountText", { email: me.email ?? "" })}>
        <NameForm name={me.name} />
        {me.providers.length > 0 ? (
          <p className="mt-5 max-w-[60ch] text-sm text-quiet">
            {t("signedInThrough", { providers: format.list([...me.providers]) })}
          </p>
        ) : null}
      </SettingsSection>
      <SecuritySections />
      <SessionsSection />
    </>
  );
}

export function GuestSection() {
  const t = useTranslations("settings");
  return (
    <SettingsSection id="account" title={t("account")} text={t("guestText")}>
      <div className="flex flex-wrap gap-2">
        <Link href="/sign-in?new=1" className={buttonStyle("primary")}>
          {t("makeAccount")}
        </Link>
        <Link href="/sign-in" className={buttonStyle("plain")}>
          {t("signIn")}
        </Link>
      </div>
    </SettingsSection>
  );
}

const mb = 1_048_576;

/** Disk space of the user's pictures, and the limit. */
export function SpaceSection() {
  const t = useTranslations("settings");
  const format = useFormatter();
  const { data } = useQuery({ queryKey: keys.usage, queryFn: () => api.account.usage.query() });
  const sizeOf = (bytes: number) => {
    const isMb = bytes < 1_024 * mb;
    const value = isMb ? bytes / mb : bytes / mb / 1_024;
    const unit = isMb ? "megabyte" : "gigabyte";
    return format.number(value, { style: "unit", unit, maximumFractionDigits: value < 10 ? 1 : 0 });
  };
  return (
    <SettingsSection id="space" title={t("space")} text={t("spaceText")}>
      {data === undefined ? (
        <div className="h-10" aria-busy />
      ) : (
        <div className="flex max-w-[420px] flex-col gap-2">
          <p className="tabular text-sm">
            {t("spaceUsed", { used: sizeOf(data.usedBytes), limit: sizeOf(data.limitBytes) })}
          </p>
          <Progress value={Math.min(1, data.usedBytes / data.limitBytes)} label={t("space")} />
        </div>
      )}
    </SettingsSection>
  );
}

"use client";
import { useMutation } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { Button } from "../ui/button.tsx";
import { toastDone } from "../ui/toasts.tsx";
import {
  confirmWith,
  PasswordField,
  retype,
  type Security,
  useChangeProblem,
  useRefresh,
} from "./passkeys.tsx";
import { SettingsSection } from "./section.tsx";

interface RowProps {
  readonly provider: NonNullable<Security["linkedProviders"]>[number];
  readonly security: Security;
}

/** What is left to sign in with after this provider: "a password or a passkey"; empty for nothing. */
function useWaysLeft({ provider, security }: RowProps): string {
  const t = useTranslations("security");
  const format = useFormatter();
  const { linkedProviders = [], passkeys, hasPassword } = security;
  const names = [
    ...(hasPassword ? [t("aPassword")] : []),
    ...linkedProviders.filter(({ id }) => id !== provider.id).map(({ name }) => name),
    ...(passkeys.some(({ place }) => place !== "elsewhere") ? [t("aPasskey")] : []),
  ];
  return format.list(names, { type: "disjunction" });
}

function UnlinkForm({ provider, security, onClose }: RowProps & { readonly onClose: () => void }) {
  const t = useTranslations("security");
  const problemOf = useChangeProblem(security);
  const refresh = useRefresh();
  const ways = useWaysLeft({ provider, security });
  const [password, setPassword] = useState("");
  const { id, name } = provider;
  const unlink = useMutation({
    mutationFn: async () => {
      await confirmWith(password);
      await api.account.removeProvider.mutate({ id });
    },
    onSuccess: () => {
      toastDone(t("unlinked", { name }));
      return refresh();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    unlink.mutate();
  };
  return (
    <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-4 pb-2.5">
      <p className="text-xs text-quiet">{t("unlinkText", { ways })}</p>
      {security.hasPassword ? (
        <PasswordField value={password} onChange={retype(unlink, setPassword)} />
      ) : null}
      {unlink.isError ? (
        <p role="alert" className="text-xs text-fail">
          {problemOf(unlink.error)}
        </p>
      ) : null}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="danger" disabled={unlink.isPending}>
          {t("unlinkYes")}
        </Button>
        <Button look="quiet" onClick={onClose}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

function ProviderRow({ provider, security }: RowProps) {
  const t = useTranslations("security");
  const [isOpen, setOpen] = useState(false);
  const { name } = provider;
  const isOnly = useWaysLeft({ provider, security }) === "";
  return (
    <li className="flex flex-col gap-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 text-sm font-medium break-words">{name}</p>
        {isOnly || isOpen ? null : (
          <Button
            size="small"
            look="danger"
            aria-label={t("unlinkNamed", { name })}
            onClick={() => setOpen(true)}
          >
            {t("unlink")}
          </Button>
        )}
        {isOnly ? (
          <p className="max-w-[60ch] basis-full text-xs text-quiet">
            {t(security.takesPasswords ? "unlinkHint" : "unlinkHintWithoutPasswords")}
          </p>
        ) : null}
      </div>
      {isOpen ? <UnlinkForm provider={provider} security={security} onClose={() => setOpen(false)} /> : null}
    </li>
  );
}

/** The providers through which the account signs in. */
export function ProvidersSection({ security }: { readonly security: Security }) {
  const t = useTranslations("security");
  return (
    <SettingsSection id="providers" title={t("providers")} text={t("providersText")}>
      <ul aria-label={t("providers")} className="max-w-[640px] divide-y divide-line border-y border-line">
        {security.linkedProviders?.map((provider) => (
          <ProviderRow key={provider.id} provider={provider} security={security} />
        ))}
      </ul>
    </SettingsSection>
  );
}

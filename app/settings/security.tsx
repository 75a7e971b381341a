"use client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { encode } from "uqr";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { authClient } from "../client/session.ts";
import { useAuthError } from "../sign-in/errors.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { PasskeysSection, PasswordField, retype, useRefresh } from "./passkeys.tsx";
import { PasswordSection } from "./password.tsx";
import { ProvidersSection } from "./providers.tsx";
import { SettingsSection } from "./section.tsx";

/** Dark on white in every theme, since cameras read nothing else. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { border: 4 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      className="size-44 rounded-control bg-white"
    >
      <path d={path} fill="#000" />
    </svg>
  );
}

interface Setup {
  readonly uri: string;
  readonly codes: readonly string[];
}

/** The recovery codes, which the server shows this once. */
function RecoveryCodes({
  codes,
  onDone,
}: {
  readonly codes: readonly string[];
  readonly onDone: () => void;
}) {
  const t = useTranslations("security");
  const text = codes.join("\n");
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`;
  return (
    <div role="status" className="flex flex-col gap-3 rounded-card border border-edge/60 bg-well p-4">
      <p className="text-xs font-medium">{t("codesShown")}</p>
      <ul className="tabular grid grid-cols-2 gap-1 rounded-control border border-line bg-surface p-3 font-mono text-xs select-all">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-3">
        <a
          href={file}
          download="atelier-recovery-codes.txt"
          className="touch text-xs underline underline-offset-4"
        >
          {t("codesDownload")}
        </a>
        <Button size="small" onClick={onDone}>
          {t("codesKept")}
        </Button>
      </div>
    </div>
  );
}

interface PasswordFormProps {
  readonly label: string;
  readonly look?: "danger";
  readonly act: (password: string) => Promise<void>;
}

/** A button that takes the password first. */
function PasswordAct({ label, look, act }: PasswordFormProps) {
  const t = useTranslations("security");
  const textOf = useAuthError();
  const [isOpen, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const run = useMutation({
    mutationFn: () => act(password),
    onSuccess: () => {
      setOpen(false);
      setPassword("");
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
    run.mutate();
  };
  return (
    <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-3">
      <PasswordField
        value={password}
        onChange={retype(run, setPassword)}
        error={run.isError ? textOf(run.error) : null}
      />
      <div className="flex gap-2">
        <Button type="submit" {...(look ? { look } : {})} disabled={run.isPending}>
          {label}
        </Button>
        <Button look="quiet" onClick={() => setOpen(false)}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

interface SetupProps {
  readonly setup: Setup;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** The key of a new app as a picture and as text, and the first code, with which it counts. */
function AppSetup({ setup, onDone, onCancel }: SetupProps) {
  const t = useTranslations("security");
  const textOf = useAuthError();
  const [code, setCode] = useState("");
  const confirm = useMutation({
    mutationFn: async () => {
      const { error } = await (await authClient()).twoFactor.verifyTotp({ code });
      if (error !== null) throw error;
    },
    onSuccess: onDone,
  });
  const secret = new URL(setup.uri).searchParams.get("secret") ?? "";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm.mutate();
  };
  return (
    <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-4">
      <p className="text-xs text-quiet">{t("scan")}</p>
      <QrCode text={setup.uri} label={t("qr")} />
      <div className="flex flex-col gap-1.5">
        <span className="text-xs font-medium">{t("key")}</span>
        <code className="rounded-control border border-line bg-surface px-3 py-2 text-xs break-all select-all">
          {secret.replace(/(.{4})(?=.)/g, "$1 ")}
        </code>
      </div>
      <Field
        name="one-time-code"
        label={t("firstCode")}
        hint={t("firstCodeHint")}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        maxLength={12}
        value={code}
        onValueChange={retype(confirm, setCode)}
        error={confirm.isError ? textOf(confirm.error) : null}
      />
      <div className="flex gap-2">
        <Button type="submit" look="primary" disabled={confirm.isPending}>
          {t("turnOnNow")}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

type Answer = { readonly data: unknown; readonly error: unknown };

/** What the server answers; throws its error. */
async function ask<T extends Answer>(answer: Promise<T>): Promise<NonNullable<T["data"]>> {
  const { data, error } = await answer;
  if (error !== null || data === null || data === undefined) throw error;
  return data as NonNullable<T["data"]>;
}

function TwoFactors({
  hasApp,
  recoveryCodes,
}: {
  readonly hasApp: boolean;
  readonly recoveryCodes: number | null;
}) {
  const t = useTranslations("security");
  const refresh = useRefresh();
  const [setup, setSetup] = useState<Setup | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  if (codes !== null) return <RecoveryCodes codes={codes} onDone={() => setCodes(null)} />;
  if (setup !== null)
    return (
      <AppSetup
        setup={setup}
        onCancel={() => setSetup(null)}
        onDone={() => {
          setCodes(setup.codes);
          setSetup(null);
          toastDone(t("turnedOn"));
          void refresh();
        }}
      />
    );
  if (!hasApp)
    return (
      <PasswordAct
        label={t("turnOn")}
        act={async (password) => {
          const made = await ask((await authClient()).twoFactor.enable({ password }));
          if ("totpURI" in made) setSetup({ uri: made.totpURI, codes: made.backupCodes });
        }}
      />
    );
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{t("isOn", { count: recoveryCodes ?? 0 })}</p>
      <PasswordAct
        label={t("newCodes")}
        act={async (password) => {
          const made = await ask((await authClient()).twoFactor.generateBackupCodes({ password }));
          setCodes(made.backupCodes);
          await refresh();
        }}
      />
      <PasswordAct
        label={t("turnOff")}
        look="danger"
        act={async (password) => {
          await ask((await authClient()).twoFactor.disable({ password }));
          toastDone(t("turnedOff"));
          await refresh();
        }}
      />
    </div>
  );
}

/** Password, two factors and passkeys of an account. */
export function SecuritySections() {
  const t = useTranslations("security");
  const { data } = useQuery({ queryKey: keys.security, queryFn: () => api.account.security.query() });
  if (data === undefined) return null;
  return (
    <>
      <PasswordSection security={data} />
      {data.hasPassword ? (
        <SettingsSection id="two-factors" title={t("twoFactors")} text={t("twoFactorsText")}>
          <TwoFactors hasApp={data.hasApp} recoveryCodes={data.recoveryCodes} />
        </SettingsSection>
      ) : null}
      <PasskeysSection security={data} />
      {data.linkedProviders?.length ? <ProvidersSection security={data} /> : null}
    </>
  );
}

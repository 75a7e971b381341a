"use client";
import { useMutation, type UseMutationResult, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { api } from "../client/api.ts";
import { failureOf } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { authClient } from "../client/session.ts";
import { useAuthError } from "../sign-in/errors.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";

export type Security = Awaited<ReturnType<typeof api.account.security.query>>;
type Passkey = Security["passkeys"][number];

/** Refetches what depends on the factors: how one signs in, what an admin may do, and the list of sessions. */
export function useRefresh() {
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: keys.security });
    // Where admins need a second factor, it decides about their pages.
    await queries.invalidateQueries({ queryKey: keys.me });
    await queries.invalidateQueries({ queryKey: keys.sessions });
  };
}

/** The password again, where the account has one: without it only a session of the last ten minutes changes passkeys. */
export async function confirmWith(password: string): Promise<void> {
  if (password === "") return;
  await api.account.confirmPassword.mutate({ password }).catch((error: unknown) => {
    throw failureOf(error).code === "forbidden" ? { code: "INVALID_PASSWORD", message: "" } : error;
  });
}

/** What signs in besides a password, by name: "Example Ltd or a passkey"; empty when nothing does. */
export function useOtherWays({ providers, passkeys }: Pick<Security, "providers" | "passkeys">): string {
  const t = useTranslations("security");
  const format = useFormatter();
  const isOffered = passkeys.some(({ place }) => place !== "elsewhere");
  const names = [...providers, ...(isOffered ? [t("aPasskey")] : [])];
  return format.list(names, { type: "disjunction" });
}

/** Whether a change needs a new sign-in, or the password again. */
function isTooOld(error: unknown): boolean {
  const { code, details } = failureOf(error);
  return String(code) === "SESSION_NOT_FRESH" || details?.["reason"] === "not_recent";
}

/** The text for an error of a change of the ways in. */
export function useChangeProblem(security: Security): (error: unknown) => string {
  const t = useTranslations("security");
  const textOf = useAuthError();
  const ways = useOtherWays(security);
  return (error) => {
    if (isTooOld(error))
      return security.hasPassword || ways === ""
        ? textOf({ code: "SESSION_NOT_FRESH" })
        : t("again", { ways });
    const { code, message, isTold } = failureOf(error);
    return isTold ? message : textOf({ code, status: Reflect.get(Object(error), "status") });
  };
}

interface PasswordProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | null;
}

/** What a field does with a letter: the refusal below it was of the text before, and goes. One that is still being asked stays. */
export const retype =
  ({ isError, reset }: Pick<UseMutationResult, "isError" | "reset">, take: (text: string) => void) =>
  (text: string): void => {
    take(text);
    if (isError) reset();
  };

/** The password of the account once more. */
export function PasswordField({ value, onChange, error = null }: PasswordProps) {
  const t = useTranslations("security");
  return (
    <Field
      name="password"
      label={t("password")}
      type="password"
      autoComplete="current-password"
      required
      value={value}
      onValueChange={onChange}
      error={error}
    />
  );
}

interface RowProps {
  readonly passkey: Passkey;
  readonly security: Security;
}

/** Says that a passkey belongs to another address, or that its address is not known. */
function PlaceNote({ passkey: { place, host } }: Pick<RowProps, "passkey">) {
  const t = useTranslations("security");
  if (place === "here") return null;
  return (
    <p className="max-w-[60ch] basis-full text-xs break-words text-quiet">
      {place === "elsewhere" ? t("elsewhere", { host: host ?? "" }) : t("placeUnknown")}
    </p>
  );
}

function PasskeyRow({ passkey, security }: RowProps) {
  const { id, name, createdAt, lastUsedAt } = passkey;
  const t = useTranslations("security");
  const format = useFormatter();
  const refresh = useRefresh();
  const problemOf = useChangeProblem(security);
  const [mode, setMode] = useState<"shown" | "rename" | "remove">("shown");
  const [text, setText] = useState("");
  const day = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium" });
  const shown = name ?? t("unnamed");
  const act = useMutation({
    mutationFn: async () => {
      if (mode === "rename") {
        await api.account.renamePasskey.mutate({ id, name: text.trim() });
        return;
      }
      await confirmWith(text);
      await api.account.removePasskey.mutate({ id });
    },
    onSuccess: () => {
      setMode("shown");
      return refresh();
    },
  });
  const open = (next: "rename" | "remove") => {
    act.reset();
    setText(next === "rename" ? shown : "");
    setMode(next);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    act.mutate();
  };
  return (
    <li className="flex flex-col gap-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <p className="text-sm font-medium break-words">{shown}</p>
          <p className="tabular text-xs text-quiet">
            {t("made", { day: day(createdAt) })}
            {" · "}
            {lastUsedAt === null ? t("neverUsed") : t("used", { day: day(lastUsedAt) })}
          </p>
        </div>
        <Button
          size="small"
          look="quiet"
          aria-label={t("renameNamed", { name: shown })}
          onClick={() => open("rename")}
        >
          {t("rename")}
        </Button>
        <Button
          size="small"
          look="danger"
          aria-label={t("removeNamed", { name: shown })}
          onClick={() => open("remove")}
        >
          {t("remove")}
        </Button>
        <PlaceNote passkey={passkey} />
      </div>
      {mode === "shown" ? null : (
        <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-4 pb-2.5">
          {mode === "rename" ? (
            <Field
              name="passkey-name"
              label={t("passkeyName")}
              required
              maxLength={100}
              value={text}
              onValueChange={retype(act, setText)}
            />
          ) : security.hasPassword ? (
            <PasswordField value={text} onChange={retype(act, setText)} />
          ) : null}
          {act.isError ? (
            <p role="alert" className="text-xs text-fail">
              {problemOf(act.error)}
            </p>
          ) : null}
          <div className="flex gap-2">
            <Button type="submit" look={mode === "remove" ? "danger" : "primary"} disabled={act.isPending}>
              {t(mode === "remove" ? "removeYes" : "save")}
            </Button>
            <Button look="quiet" onClick={() => setMode("shown")}>
              {t("cancel")}
            </Button>
          </div>
        </form>
      )}
    </li>
  );
}

const never = () => () => {};

/** Why passkeys cannot be used here; null when they can. */
function useObstacle(): "insecure" | "unsupported" | null {
  return useSyncExternalStore(
    never,
    () => {
      if (!window.isSecureContext) return "insecure";
      return "PublicKeyCredential" in window ? null : "unsupported";
    },
    () => null,
  );
}

function AddPasskey({ security }: { readonly security: Security }) {
  const t = useTranslations("security");
  const problemOf = useChangeProblem(security);
  const refresh = useRefresh();
  const obstacle = useObstacle();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const add = useMutation({
    mutationFn: async () => {
      await confirmWith(password);
      const { error } = await (await authClient()).passkey.addPasskey({ name: name.trim() });
      if (error !== null) throw error;
    },
    onSuccess: () => {
      setName("");
      setPassword("");
      toastDone(t("added"));
      return refresh();
    },
  });
  if (obstacle !== null) return <p className="max-w-[60ch] text-xs text-quiet">{t(obstacle)}</p>;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form method="post" onSubmit={submit} className="flex max-w-[420px] flex-col gap-4">
      <Field
        name="passkey-name"
        label={t("passkeyName")}
        placeholder={t("passkeyNameHint")}
        autoComplete="off"
        required
        maxLength={100}
        value={name}
        onValueChange={retype(add, setName)}
      />
      {security.hasPassword ? <PasswordField value={password} onChange={retype(add, setPassword)} /> : null}
      {add.isError ? (
        <p role="alert" className="text-xs text-fail">
          {problemOf(add.error)}
        </p>
      ) : null}
      <Button type="submit" className="self-start" disabled={add.isPending}>
        {t("add")}
      </Button>
    </form>
  );
}

/** The passkeys of an account, and a new one. */
export function PasskeysSection({ security }: { readonly security: Security }) {
  const t = useTranslations("security");
  const { passkeys } = security;
  return (
    <SettingsSection id="passkeys" title={t("passkeys")} text={t("passkeysText")}>
      <div className="flex max-w-[640px] flex-col gap-5">
        {passkeys.length === 0 ? null : (
          <ul aria-label={t("passkeys")} className="divide-y divide-line border-y border-line">
            {passkeys.map((passkey) => (
              <PasskeyRow key={passkey.id} passkey={passkey} security={security} />
            ))}
          </ul>
        )}
        <AddPasskey security={security} />
      </div>
    </SettingsSection>
  );
}

"use client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Download, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { authClient } from "../client/session.ts";
import { announceSignOut, forgetShared } from "../client/leaving.ts";
import { Button, buttonStyle } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { retype, useOtherWays } from "./passkeys.tsx";
import { SettingsSection } from "./section.tsx";

/** The server asks for this word; people type the one of their language. */
const deletionWord = "delete";

/** Deletes the account; then every tab of this browser leaves. */
function useDeleteAccount() {
  return useMutation({
    mutationFn: async (password: string | undefined) => {
      await api.account.remove.mutate({ confirm: deletionWord, password });
      // The session is gone already: this only drops the cookie.
      await (await authClient()).signOut().catch(() => undefined);
    },
    onSuccess: () => forgetShared().then(announceSignOut),
  });
}

const nothing = { providers: [], passkeys: [] };

function useProblem({ isGuest, hasPassword }: Omit<FormProps, "onClose">): (error: unknown) => string {
  const t = useTranslations("settings");
  const { data } = useQuery({
    queryKey: keys.security,
    queryFn: () => api.account.security.query(),
    enabled: !isGuest,
  });
  const ways = useOtherWays(data ?? nothing) || "none";
  const textOf = useFailureText();
  return (error) => {
    const failure = failureOf(error);
    if (failure.code === "forbidden") return hasPassword ? t("deleteWrong") : t("deleteSignIn", { ways });
    if (failure.code === "conflict") return t("onlyAdmin");
    const { title, advice } = textOf(failure);
    return `${title}. ${advice}`;
  };
}

interface FormProps {
  readonly isGuest: boolean;
  /** Guests have none, nor has somebody who signs in otherwise. */
  readonly hasPassword: boolean;
  readonly onClose: () => void;
}

function DeleteForm({ isGuest, hasPassword, onClose }: FormProps) {
  const t = useTranslations("settings");
  const problemOf = useProblem({ isGuest, hasPassword });
  const [password, setPassword] = useState("");
  const [typed, setTyped] = useState("");
  const remove = useDeleteAccount();
  const word = t("deleteWord");
  const isTyped = typed.trim().toLowerCase() === word;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    remove.mutate(hasPassword ? password : undefined);
  };
  return (
    <form method="post" onSubmit={submit} className="flex flex-col gap-4">
      <p className="text-sm text-quiet">{t(isGuest ? "deleteGuestText" : "deleteText")}</p>
      {hasPassword ? (
        <Field
          name="delete-password"
          label={t("deletePassword")}
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onValueChange={retype(remove, setPassword)}
        />
      ) : null}
      <Field
        name="delete-word"
        label={t("deleteType", { word })}
        autoComplete="off"
        spellCheck={false}
        required
        value={typed}
        onValueChange={retype(remove, setTyped)}
      />
      {remove.isError ? (
        <p role="alert" className="text-xs text-fail">
          {problemOf(remove.error)}
        </p>
      ) : null}
      <div className="mt-2 flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={onClose}>
          {t("deleteKeep")}
        </Button>
        <Button type="submit" look="danger" disabled={!isTyped || remove.isPending}>
          {remove.isPending ? t("deleteBusy") : t("deleteConfirm")}
        </Button>
      </div>
    </form>
  );
}

/** Export of everything, and the end of the account; for guests as well. */
export function DataSection({ isGuest, hasPassword }: Omit<FormProps, "onClose">) {
  const t = useTranslations("settings");
  const [isAsking, setAsking] = useState(false);
  const title = t(isGuest ? "deleteGuest" : "deleteAccount");
  return (
    <SettingsSection id="data" title={t("data")} text={t("dataText")}>
      <div className="flex max-w-[640px] flex-col items-start gap-6">
        <div className="flex flex-col items-start gap-2">
          <a href="/api/v1/account/export" download className={buttonStyle("plain")}>
            <Download aria-hidden />
            {t("export")}
          </a>
          <p className="max-w-[60ch] text-xs text-quiet">{t("exportText")}</p>
        </div>
        <div className="flex flex-col items-start gap-2">
          <Button look="danger" onClick={() => setAsking(true)}>
            <Trash2 aria-hidden />
            {title}
          </Button>
          <p className="max-w-[60ch] text-xs text-quiet">{t(isGuest ? "deleteGuestText" : "deleteText")}</p>
        </div>
      </div>
      <Dialog open={isAsking} onOpenChange={setAsking} title={title}>
        <DeleteForm isGuest={isGuest} hasPassword={hasPassword} onClose={() => setAsking(false)} />
      </Dialog>
    </SettingsSection>
  );
}

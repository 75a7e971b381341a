"use client";
import { KeyRound, ShieldCheck, ShieldOff, Smartphone, UserRoundCheck, UserRoundX } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useState } from "react";
import type { UserFigures } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { useMe } from "../../client/queries.ts";
import { Button } from "../../ui/button.tsx";
import { toastDone } from "../../ui/toasts.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";
import { Panel } from "../parts.tsx";

interface Props {
  readonly user: UserFigures;
}

function ActRow({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3">
      <p className="max-w-[52ch] text-xs text-quiet">{text}</p>
      {children}
    </li>
  );
}

function SuspendRow({ user: { id, name, state } }: Props) {
  const t = useTranslations("admin.users");
  const suspend = useAdminAction(async () => {
    const { cancelledJobs } = await api.admin.users.suspend.mutate({ id });
    toastDone(t("suspended", { jobs: cancelledJobs }));
  });
  const unsuspend = useAdminAction(() => api.admin.users.unsuspend.mutate({ id }));
  if (state === "suspended")
    return (
      <ActRow text={t("unsuspendText")}>
        <Button size="small" disabled={unsuspend.isPending} onClick={() => unsuspend.mutate()}>
          <UserRoundCheck aria-hidden />
          {t("unsuspend")}
        </Button>
      </ActRow>
    );
  return (
    <ActRow text={t("suspendText")}>
      <ConfirmButton
        label={t("suspendNamed", { name })}
        question={t("suspendAsk")}
        confirm={t("suspendYes")}
        isPending={suspend.isPending}
        onConfirm={() => suspend.mutate()}
      >
        <UserRoundX aria-hidden />
        {t("suspend")}
      </ConfirmButton>
    </ActRow>
  );
}

function RoleRow({ user: { id, name, role } }: Props) {
  const t = useTranslations("admin.users");
  const isAdmin = role === "admin";
  const change = useAdminAction(() =>
    api.admin.users.setRole.mutate({ id, role: isAdmin ? "user" : "admin" }),
  );
  const key = isAdmin ? "demote" : "promote";
  return (
    <ActRow text={t(`${key}Text`)}>
      <ConfirmButton
        label={t(`${key}Named`, { name })}
        question={t(`${key}Ask`)}
        confirm={t(`${key}Yes`)}
        isPending={change.isPending}
        onConfirm={() => change.mutate()}
      >
        {isAdmin ? <ShieldOff aria-hidden /> : <ShieldCheck aria-hidden />}
        {t(key)}
      </ConfirmButton>
    </ActRow>
  );
}

function PasswordRow({ user: { id } }: Props) {
  const t = useTranslations("admin.users");
  const [link, setLink] = useState<string | null>(null);
  const create = useAdminAction(async () => {
    const { token } = await api.admin.users.createResetLink.mutate({ id });
    setLink(`${window.location.origin}/sign-in/new-password#${token}`);
  });
  return (
    <>
      <ActRow text={t("resetText")}>
        <Button size="small" disabled={create.isPending} onClick={() => create.mutate()}>
          <KeyRound aria-hidden />
          {t("reset")}
        </Button>
      </ActRow>
      {link === null ? null : (
        <li className="py-3">
          <ShownOnce text={t("resetShown")} value={link} onDone={() => setLink(null)} />
        </li>
      )}
    </>
  );
}

function FactorsRow({ user: { id, name } }: Props) {
  const t = useTranslations("admin.users");
  const reset = useAdminAction(async () => {
    await api.admin.users.resetFactors.mutate({ id });
    toastDone(t("factorsDone"));
  });
  return (
    <ActRow text={t("factorsText")}>
      <ConfirmButton
        label={t("factorsNamed", { name })}
        question={t("factorsAsk")}
        confirm={t("factorsYes")}
        isPending={reset.isPending}
        onConfirm={() => reset.mutate()}
      >
        <Smartphone aria-hidden />
        {t("factors")}
      </ConfirmButton>
    </ActRow>
  );
}

/** Oneself is neither suspended nor deleted here. */
export function useIsMe({ id }: UserFigures): boolean {
  return useMe()?.id === id;
}

/** What an admin may do about how a user signs in. */
export function UserActs({ user }: Props) {
  const t = useTranslations("admin.users");
  const isMe = useIsMe(user);
  const isAccount = user.role === "admin" || user.role === "user";
  return (
    <Panel title={t("access")}>
      <ul className="divide-y divide-line border-y border-line">
        {isMe ? null : <SuspendRow user={user} />}
        {isAccount && user.state === "active" ? <RoleRow user={user} /> : null}
        {isAccount ? <PasswordRow user={user} /> : null}
        {isAccount ? <FactorsRow user={user} /> : null}
      </ul>
    </Panel>
  );
}

"use client";
import { useQuery } from "@tanstack/react-query";
import { Link2 } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import type { InvitationView } from "@atelier/server/accounts";
import { api } from "../../client/api.ts";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { Button } from "../../ui/button.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";
import { Panel } from "../parts.tsx";

const dayChoices = ["1", "7", "30"] as const;
type Days = (typeof dayChoices)[number];

const linkOf = (token: string) => `${window.location.origin}/sign-in#invitation=${token}`;

function CreateInvitation({ onLink }: { readonly onLink: (link: string) => void }) {
  const t = useTranslations("admin.invitations");
  const [days, setDays] = useState<Days>("7");
  const create = useAdminAction(async () => {
    const { token } = await api.admin.invitations.create.mutate({ days: Number(days) });
    onLink(linkOf(token));
  });
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Segmented
        label={t("days")}
        value={days}
        onChange={setDays}
        options={dayChoices.map((value) => ({ value, label: t("dayCount", { days: Number(value) }) }))}
      />
      <Button look="primary" disabled={create.isPending} onClick={() => create.mutate()}>
        <Link2 aria-hidden />
        {t("create")}
      </Button>
    </div>
  );
}

function InvitationRow({ invitation }: { readonly invitation: InvitationView }) {
  const t = useTranslations("admin.invitations");
  const format = useFormatter();
  const at = (time: string) => format.dateTime(new Date(time), { dateStyle: "medium", timeStyle: "short" });
  const revoke = useAdminAction(() => api.admin.invitations.revoke.mutate({ id: invitation.id }));
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-2.5">
      <span className="tabular text-sm">
        {t("expires", { at: at(invitation.expiresAt) })}{" "}
        <span className="text-xs text-quiet">{t("made", { at: at(invitation.createdAt) })}</span>
      </span>
      <ConfirmButton
        label={t("revokeLabel", { at: at(invitation.expiresAt) })}
        question={t("question")}
        confirm={t("revoke")}
        isPending={revoke.isPending}
        onConfirm={() => revoke.mutate()}
      >
        {t("revoke")}
      </ConfirmButton>
    </li>
  );
}

/** Invitation links, each for one new account; shown only while SIGN_UP is `invite`. */
export function Invitations() {
  const t = useTranslations("admin.invitations");
  const [link, setLink] = useState<string | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["admin", "invitations"],
    queryFn: () => api.admin.invitations.list.query(),
    staleTime: 0,
  });
  if (error !== null) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  if (data?.signUp !== "invite") return null;
  return (
    <Panel title={t("title")} aside={t("text")}>
      <div className="flex max-w-3xl flex-col gap-4">
        <CreateInvitation onLink={setLink} />
        {link === null ? null : <ShownOnce text={t("shownOnce")} value={link} onDone={() => setLink(null)} />}
        {data.items.length === 0 ? (
          <p className="text-sm text-quiet">{t("none")}</p>
        ) : (
          <ul aria-label={t("list")} className="divide-y divide-line border-y border-line">
            {data.items.map((invitation) => (
              <InvitationRow key={invitation.id} invitation={invitation} />
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}

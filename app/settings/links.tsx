"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import type { LinkView } from "@atelier/server/links";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { imageUrl } from "../client/urls.ts";
import {
  daysOf,
  type EndOrKept,
  LinkFields,
  LinkPassword,
  NamedChoice,
  useLinkDraft,
} from "../links/fields.tsx";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";

function useLinkName(): (link: LinkView) => string {
  const t = useTranslations("links");
  return ({ title, batchId, boardId, pictures }) => {
    if (title !== "") return title;
    if (batchId !== null) return t("untitled.batch");
    if (boardId !== null) return t("untitled.board");
    return pictures === 1 ? t("untitled.one") : t("untitled.many", { count: pictures });
  };
}

function useLinkFacts(): (link: LinkView) => string {
  const t = useTranslations("links");
  const format = useFormatter();
  return ({ endsAt, hasEnded, hasPassword, mayDownload, views }) => {
    const day = endsAt === null ? "" : format.dateTime(new Date(endsAt), { dateStyle: "medium" });
    const end = hasEnded ? t("ended", { day }) : t(endsAt === null ? "endsNever" : "endsAt", { day });
    const facts = [
      end,
      hasPassword && t("locked"),
      mayDownload && t("downloads"),
      t("views", { count: views }),
    ];
    return facts.filter(Boolean).join(" · ");
  };
}

interface LinkProps {
  readonly link: LinkView;
}

type PasswordChange = "keep" | "new" | "none";

function ChangeForm({ link, onDone }: LinkProps & { readonly onDone: () => void }) {
  const t = useTranslations("links");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [passwordChange, setPasswordChange] = useState<PasswordChange>("keep");
  const { draft, change: edit } = useLinkDraft<EndOrKept>({
    title: link.title,
    end: "keep",
    password: "",
    mayDownload: link.mayDownload,
  });
  const newPassword = passwordChange === "none" ? null : draft.password;
  const change = useMutation({
    mutationFn: () =>
      api.links.change.mutate({
        id: link.id,
        title: draft.title.trim(),
        mayDownload: draft.mayDownload,
        ...(draft.end !== "keep" && { endsInDays: daysOf(draft.end) }),
        ...(passwordChange !== "keep" && { password: newPassword }),
      }),
    onSuccess: () => {
      toastDone(t("changed"));
      onDone();
      return queries.invalidateQueries({ queryKey: keys.links });
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col items-stretch gap-5">
      <LinkFields
        draft={draft}
        onChange={edit}
        endLabel={t("newEnd")}
        firstEnds={[{ value: "keep", label: t("keepEnd") }]}
      >
        <NamedChoice
          label={t("password")}
          value={passwordChange}
          options={[
            { value: "keep", label: t(link.hasPassword ? "keepPassword" : "noPassword") },
            { value: "new", label: t("newPassword") },
            ...(link.hasPassword ? [{ value: "none", label: t("noPassword") } as const] : []),
          ]}
          onChange={setPasswordChange}
        />
        {passwordChange === "new" ? (
          <LinkPassword
            label={t("newPassword")}
            required
            value={draft.password}
            onValueChange={(password) => edit({ password })}
          />
        ) : null}
      </LinkFields>
      <Button type="submit" look="primary" className="self-end" disabled={change.isPending}>
        {t("save")}
      </Button>
    </form>
  );
}

function useRevoke({ id }: LinkView) {
  const t = useTranslations("links");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const onSettled = () => queries.invalidateQueries({ queryKey: keys.links });
  const restore = useMutation({ mutationFn: () => api.links.restore.mutate({ id }), onError, onSettled });
  return useMutation({
    mutationFn: () => api.links.revoke.mutate({ id }),
    onSuccess: () =>
      toastWithUndo({ title: t("revoked"), undoLabel: t("undo"), onUndo: () => restore.mutate() }),
    onError,
    onSettled,
  });
}

function LinkRow({ link }: LinkProps) {
  const t = useTranslations("links");
  const [isChanging, setChanging] = useState(false);
  const name = useLinkName()(link);
  const facts = useLinkFacts()(link);
  const revoke = useRevoke(link);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-2.5">
      <span className="size-12 shrink-0 overflow-hidden rounded-control bg-well">
        {link.coverId === null ? null : (
          <img src={imageUrl(link.coverId, "thumbnail")} alt="" className="size-full object-cover" />
        )}
      </span>
      <div className="min-w-40 flex-1">
        <p className="truncate text-sm font-medium">{name}</p>
        <p className="tabular text-xs text-quiet">{facts}</p>
      </div>
      <div className="flex gap-2">
        <Button size="small" aria-label={t("changeNamed", { name })} onClick={() => setChanging(true)}>
          {t("change")}
        </Button>
        <Button
          size="small"
          look="danger"
          disabled={revoke.isPending}
          aria-label={t("revokeNamed", { name })}
          onClick={() => revoke.mutate()}
        >
          {t("revoke")}
        </Button>
      </div>
      <Dialog open={isChanging} onOpenChange={setChanging} title={t("changeTitle")}>
        <ChangeForm link={link} onDone={() => setChanging(false)} />
      </Dialog>
    </li>
  );
}

/** The links of the account: what they show, until when, and how often they were opened. */
export function LinksSection() {
  const t = useTranslations("links");
  const { data, error, refetch } = useQuery({ queryKey: keys.links, queryFn: () => api.links.list.query() });
  return (
    <SettingsSection id="links" title={t("title")} text={t("text")}>
      {data === undefined && error !== null ? (
        <LoadFailed error={error} onRetry={() => void refetch()} />
      ) : null}
      {data?.items.length === 0 ? <p className="text-sm text-quiet">{t("empty")}</p> : null}
      {data === undefined || data.items.length === 0 ? null : (
        <ul aria-label={t("title")} className="max-w-[640px] divide-y divide-line border-y border-line">
          {data.items.map((link) => (
            <LinkRow key={link.id} link={link} />
          ))}
        </ul>
      )}
    </SettingsSection>
  );
}

"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { failureOf, useFailureText, useFailureToast } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { Select } from "../ui/select.tsx";
import { useRefreshBoards } from "../client/boards.ts";

type Member = Awaited<ReturnType<typeof api.boards.members.query>>["items"][number];
type Right = Member["right"];
const rights = ["see", "add"] as const satisfies readonly Right[];

const rightOf = (value: string): Right => (value === "add" ? "add" : "see");

interface RightProps {
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly value: Right;
  readonly onChange: (right: Right) => void;
}

function RightChoice({ onChange, ...props }: RightProps) {
  const t = useTranslations("boards");
  return (
    <Select
      {...props}
      options={rights.map((value) => ({ value, title: t(`rights.${value}`) }))}
      onChange={(value) => onChange(rightOf(value))}
    />
  );
}

/** It is said at the field. */
const isUnknown = (error: unknown) => failureOf(error).code === "account_unknown";

/** Changes the members of a board; every answer has all of them. */
function useMembers(id: string) {
  const queries = useQueryClient();
  const refresh = useRefreshBoards();
  const onError = useFailureToast();
  const key = keys.boardMembers(id);
  const settled = {
    onSuccess: (members: { readonly items: Member[] }) => queries.setQueryData(key, members),
    onError: (error: unknown) => isUnknown(error) || onError(error),
    onSettled: refresh,
  };
  const share = useMutation({
    mutationFn: (who: { readonly email: string; readonly right: Right }) =>
      api.boards.share.mutate({ id, ...who }),
    ...settled,
  });
  const unshare = useMutation({
    mutationFn: (userId: string) => api.boards.unshare.mutate({ id, userId }),
    ...settled,
  });
  const { data } = useQuery({ queryKey: key, queryFn: () => api.boards.members.query({ id }) });
  return { members: data?.items, share, unshare };
}

interface RowProps {
  readonly member: Member;
  readonly onRight: (right: Right) => void;
  readonly onRemove: () => void;
}

function MemberRow({ member, onRight, onRemove }: RowProps) {
  const t = useTranslations("boards");
  const { name, email, right } = member;
  return (
    <li className="flex items-center gap-3 py-2">
      <span className="min-w-0 flex-1">
        <span className="block truncate text-sm font-medium">{name}</span>
        <span className="block truncate text-xs text-quiet">{email}</span>
      </span>
      <RightChoice label={t("rightOf", { name })} hideLabel value={right} onChange={onRight} />
      <IconButton label={t("unshare", { name })} onClick={onRemove}>
        <X aria-hidden />
      </IconButton>
    </li>
  );
}

function Members({ id }: { readonly id: string }) {
  const t = useTranslations("boards");
  const { members, share, unshare } = useMembers(id);
  const textOf = useFailureText();
  const [email, setEmail] = useState("");
  const [right, setRight] = useState<Right>("see");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // What was typed meanwhile stays.
    const onSuccess = () => setEmail((now) => (now === email ? "" : now));
    share.mutate({ email: email.trim(), right }, { onSuccess });
  };
  return (
    <div className="flex flex-col gap-5">
      <p className="text-sm text-quiet">{t("shareText")}</p>
      <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
        <div className="min-w-48 flex-1">
          <Field
            name="member-email"
            type="email"
            label={t("memberEmail")}
            required
            maxLength={254}
            autoComplete="off"
            error={isUnknown(share.error) ? textOf(failureOf(share.error)).title : null}
            value={email}
            onValueChange={setEmail}
          />
        </div>
        <RightChoice label={t("right")} value={right} onChange={setRight} />
        <Button type="submit" look="primary" disabled={share.isPending}>
          {t("share")}
        </Button>
      </form>
      {members?.length === 0 ? <p className="text-sm text-quiet">{t("noMembers")}</p> : null}
      <ul aria-label={t("members")} className="divide-y divide-line border-y border-line empty:border-0">
        {members?.map((member) => (
          <MemberRow
            key={member.userId}
            member={member}
            onRight={(changed) => share.mutate({ email: member.email, right: changed })}
            onRemove={() => unshare.mutate(member.userId)}
          />
        ))}
      </ul>
      <Link href={`/boards/${id}`} className={buttonStyle("quiet", "small")}>
        {t("openShared")}
      </Link>
    </div>
  );
}

interface Props {
  readonly board: { readonly id: string; readonly name: string };
  readonly onClose: () => void;
}

/** With whom a board is shared, and what they may do. */
export function MembersDialog({ board, onClose }: Props) {
  const t = useTranslations("boards");
  const me = useMe();
  return (
    <Dialog open onOpenChange={(open) => open || onClose()} title={t("shareTitle", { name: board.name })}>
      {me?.isGuest === true ? (
        <div className="flex flex-col items-start gap-5">
          <p className="text-sm text-quiet">{t("guest")}</p>
          <Link href="/sign-in" className={buttonStyle("primary")}>
            {t("signIn")}
          </Link>
        </div>
      ) : (
        <Members id={board.id} />
      )}
    </Dialog>
  );
}

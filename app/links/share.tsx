"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Share2 } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { ShownOnce } from "../parts/shown-once.tsx";
import { minPasswordLength } from "../client/session.ts";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { daysOf, type End, LinkFields, LinkPassword, useLinkDraft } from "./fields.tsx";

/** What a link shows: pictures one by one, or the results of a batch or a board as they are at each visit. */
type Shared =
  | { readonly imageIds: string[] }
  | { readonly batchId: string }
  | { readonly boardId: string; readonly name: string };

function sourceOf(what: Shared) {
  return "boardId" in what ? { boardId: what.boardId } : what;
}

interface Made {
  readonly path: string;
  readonly hasPassword: boolean;
}

function ShareForm({ what, onMade }: { readonly what: Shared; readonly onMade: (made: Made) => void }) {
  const t = useTranslations("links");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const { draft, change } = useLinkDraft<End>({
    title: "name" in what ? what.name : "",
    end: "7",
    password: "",
    mayDownload: false,
  });
  const create = useMutation({
    mutationFn: () =>
      api.links.create.mutate({
        ...sourceOf(what),
        title: draft.title.trim(),
        endsInDays: daysOf(draft.end),
        password: draft.password === "" ? null : draft.password,
        mayDownload: draft.mayDownload,
      }),
    onSuccess: (made) => {
      onMade(made);
      return queries.invalidateQueries({ queryKey: keys.links });
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {"boardId" in what ? <p className="text-sm text-quiet">{t("boardText")}</p> : null}
      <LinkFields draft={draft} onChange={change} endLabel={t("ends")}>
        <LinkPassword
          label={t("password")}
          hint={t("passwordHint", { count: minPasswordLength })}
          value={draft.password}
          onValueChange={(password) => change({ password })}
        />
      </LinkFields>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <AllLinks />
        <Button type="submit" look="primary" disabled={create.isPending}>
          {t("create")}
        </Button>
      </div>
    </form>
  );
}

function AllLinks() {
  const t = useTranslations("links");
  return (
    <Link href="/settings#links" className="touch text-xs underline underline-offset-4">
      {t("all")}
    </Link>
  );
}

function ShareSteps({ what, onDone }: { readonly what: Shared; readonly onDone: () => void }) {
  const t = useTranslations("links");
  const me = useMe();
  const [made, setMade] = useState<Made | null>(null);
  if (me === undefined) return null;
  if (me === null || me.isGuest)
    return (
      <div className="flex flex-col items-start gap-5">
        <p className="text-sm text-quiet">{t("guest")}</p>
        <Link href="/sign-in" className={buttonStyle("primary")}>
          {t("signIn")}
        </Link>
      </div>
    );
  if (made === null) return <ShareForm what={what} onMade={setMade} />;
  return (
    <div className="flex flex-col items-start gap-4">
      <ShownOnce
        text={t(made.hasPassword ? "shownOnceLocked" : "shownOnce")}
        value={new URL(made.path, window.location.origin).href}
        onDone={onDone}
      />
      <AllLinks />
    </div>
  );
}

interface ShareDialogProps {
  readonly what: Shared;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

/** Makes a link and shows its address once. */
export function ShareDialog({ what, open, onOpenChange }: ShareDialogProps) {
  const t = useTranslations("links");
  const isOne = "imageIds" in what && what.imageIds.length === 1;
  const title =
    "boardId" in what
      ? t("shareTitle.board", { name: what.name })
      : t(isOne ? "shareTitle.one" : "shareTitle.many");
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={title}>
      <ShareSteps what={what} onDone={() => onOpenChange(false)} />
    </Dialog>
  );
}

interface ShareButtonProps {
  readonly what: Shared;
  /** How it looks where it stands; an icon alone in the viewer. */
  readonly look: "icon" | "quiet" | "plain";
}

/** *Share*: a dialog that makes a link and shows its address once. */
export function ShareButton({ what, look }: ShareButtonProps) {
  const t = useTranslations("links");
  const [isOpen, setOpen] = useState(false);
  const open = () => setOpen(true);
  return (
    <>
      {look === "icon" ? (
        <IconButton label={t("share")} onClick={open}>
          <Share2 aria-hidden />
        </IconButton>
      ) : (
        <Button look={look} size="small" onClick={open}>
          <Share2 aria-hidden />
          <span className="max-sm:sr-only">{t("share")}</span>
        </Button>
      )}
      <ShareDialog what={what} open={isOpen} onOpenChange={setOpen} />
    </>
  );
}

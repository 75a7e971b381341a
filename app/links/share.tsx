"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Share2 } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { ShownOnce } from "../frame/shown-once.tsx";
import { minPasswordLength } from "../sign-in/sign-in.tsx";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Checkbox, Field, Segmented } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";

/** What a link shows: pictures one by one, or the results of a batch as they are at each visit. */
type Shared = { readonly imageIds: string[] } | { readonly batchId: string };

const ends = ["1", "7", "30", "never"] as const;
export type End = (typeof ends)[number];

/** The server's number of days until the end. */
export const daysOf = (end: End) => (end === "never" ? null : Number(end));

export function useEndOptions() {
  const t = useTranslations("links");
  return ends.map((value) => ({ value, label: t(`end.${value}`) }));
}

interface Made {
  readonly path: string;
  readonly hasPassword: boolean;
}

function ShareForm({ what, onMade }: { readonly what: Shared; readonly onMade: (made: Made) => void }) {
  const t = useTranslations("links");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [title, setTitle] = useState("");
  const [end, setEnd] = useState<End>("7");
  const [password, setPassword] = useState("");
  const [mayDownload, setMayDownload] = useState(false);
  const endOptions = useEndOptions();
  const create = useMutation({
    mutationFn: () =>
      api.links.create.mutate({
        ...what,
        title: title.trim(),
        endsInDays: daysOf(end),
        password: password === "" ? null : password,
        mayDownload,
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
      <Field
        name="link-title"
        label={t("name")}
        hint={t("nameHint")}
        maxLength={120}
        autoComplete="off"
        value={title}
        onValueChange={setTitle}
      />
      <div className="flex flex-col items-start gap-1.5">
        <span aria-hidden className="text-xs font-medium">
          {t("ends")}
        </span>
        <Segmented label={t("ends")} value={end} options={endOptions} onChange={setEnd} />
      </div>
      <Field
        name="link-password"
        type="password"
        label={t("password")}
        hint={t("passwordHint", { count: minPasswordLength })}
        minLength={minPasswordLength}
        maxLength={100}
        autoComplete="new-password"
        value={password}
        onValueChange={setPassword}
      />
      <Checkbox checked={mayDownload} onChange={setMayDownload}>
        {t("mayDownload")}
      </Checkbox>
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
    <Link href="/settings#links" className="text-xs underline underline-offset-4">
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
      <Dialog
        open={isOpen}
        onOpenChange={setOpen}
        title={t("batchId" in what ? "shareTitle.batch" : "shareTitle.one")}
      >
        <ShareSteps what={what} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

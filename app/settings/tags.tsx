"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type FormEvent, useState } from "react";
import { termOf } from "@atelier/server/search-query";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { useTags } from "../pictures/marks.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";

type Tag = NonNullable<ReturnType<typeof useTags>>[number];

interface Props {
  readonly tag: Tag;
  readonly onDone: () => void;
}

function useTagChange<Input>(change: (input: Input) => Promise<unknown>, done: string, onDone: () => void) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: change,
    onSuccess: () => {
      toastDone(done);
      onDone();
    },
    onError,
    onSettled: () =>
      Promise.all([keys.tags, keys.images].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
}

function RenameForm({ tag, onDone }: Props) {
  const t = useTranslations("settings.tags");
  const [name, setName] = useState(tag.name);
  const rename = useTagChange(
    () => api.tags.rename.mutate({ id: tag.id, name: name.trim() }),
    t("renamed"),
    onDone,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate(undefined);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <Field
        name="tag-name"
        label={t("name")}
        hint={t("renameText")}
        required
        maxLength={40}
        value={name}
        onValueChange={setName}
      />
      <Button type="submit" look="primary" className="self-end" disabled={rename.isPending}>
        {t("rename")}
      </Button>
    </form>
  );
}

function TagRow({ tag }: { readonly tag: Tag }) {
  const t = useTranslations("settings.tags");
  const [asked, setAsked] = useState<"rename" | "remove" | null>(null);
  const close = () => setAsked(null);
  const { id, name, pictures } = tag;
  const remove = useTagChange(() => api.tags.remove.mutate({ id }), t("removed", { name }), close);
  return (
    <li className="flex items-center gap-2 py-2">
      <Link
        href={`/gallery?search=${encodeURIComponent(termOf("tag", name))}`}
        className="min-w-0 flex-1 truncate text-sm font-medium hover:underline"
      >
        {name}
      </Link>
      <span className="tabular text-xs text-quiet">{t("pictures", { count: pictures })}</span>
      <Button
        size="small"
        look="quiet"
        aria-label={t("renameNamed", { name })}
        onClick={() => setAsked("rename")}
      >
        {t("rename")}
      </Button>
      <Button
        size="small"
        look="danger"
        aria-label={t("removeNamed", { name })}
        onClick={() => setAsked("remove")}
      >
        {t("remove")}
      </Button>
      <Dialog
        open={asked === "rename"}
        onOpenChange={(open) => open || close()}
        title={t("renameNamed", { name })}
      >
        <RenameForm tag={tag} onDone={close} />
      </Dialog>
      <Confirmation
        open={asked === "remove"}
        onOpenChange={(open) => open || close()}
        title={t("removeTitle", { name })}
        keep={t("keep")}
        confirm={t("remove")}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      >
        {t("removeText", { count: pictures })}
      </Confirmation>
    </li>
  );
}

/** The tags of one's pictures, renamed, joined and removed as a whole; nothing without tags. */
export function TagsSection() {
  const t = useTranslations("settings.tags");
  const tags = useTags();
  if (tags === undefined || tags.length === 0) return null;
  return (
    <SettingsSection id="tags" title={t("title")} text={t("text")}>
      <ul aria-label={t("title")} className="max-w-[640px] divide-y divide-line border-y border-line">
        {tags.map((tag) => (
          <TagRow key={tag.id} tag={tag} />
        ))}
      </ul>
    </SettingsSection>
  );
}

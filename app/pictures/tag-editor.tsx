"use client";
import { Autocomplete } from "@base-ui/react/autocomplete";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useMemo, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { cx, inputStyle } from "../ui/button.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";
import { callFor } from "./actions.tsx";
import { useChangeCached, useTags } from "./marks.tsx";

type Tagged = Pick<ImageView, "id" | "tags">;

interface Tagging {
  readonly images: readonly Tagged[];
  readonly name: string;
}

/** Gives pictures a tag, or takes it from them, with undo. */
function useTagging(act: "tag" | "untag") {
  const t = useTranslations("pictures.marks");
  const queries = useQueryClient();
  const change = useChangeCached();
  const showFailure = useFailureToast();
  const call = async (how: "tag" | "untag", ids: readonly string[], name: string) => {
    const changed: string[] = [];
    const made = await callFor(ids, async (some) => {
      changed.push(...(await api.images[how].mutate({ ids: some, name })).ids);
    });
    await change(changed, (image) => ({
      ...image,
      tags: how === "tag" ? [...image.tags, name] : image.tags.filter((tag) => tag !== name),
    }));
    if (made.failure) throw made.failure.error;
    return changed;
  };
  const refresh = () =>
    Promise.all([keys.images, keys.tags].map((queryKey) => queries.invalidateQueries({ queryKey })));
  return useMutation({
    mutationFn: ({ images, name }: Tagging) =>
      call(
        act,
        images.map(({ id }) => id),
        name,
      ),
    onSuccess: (ids, { name }) => {
      if (ids.length === 0) return;
      const back = act === "tag" ? "untag" : "tag";
      toastWithUndo({
        title: t(act === "tag" ? "tagged" : "untagged", { name, count: ids.length }),
        undoLabel: t("undo"),
        onUndo: () =>
          void call(back, ids, name)
            .catch(showFailure)
            .finally(() => void refresh()),
      });
    },
    onError: showFailure,
    onSettled: refresh,
  });
}

interface UsedTag {
  readonly name: string;
  readonly isOnAll: boolean;
}

/** The tags of any of the pictures. */
function tagsOfAll(images: readonly Tagged[]): UsedTag[] {
  const names = [...new Set(images.flatMap(({ tags }) => tags))];
  return names.map((name) => ({ name, isOnAll: images.every(({ tags }) => tags.includes(name)) }));
}

/** The tags of pictures, each with a button that takes it away, and a field for one more that offers the user's own. */
export function TagEditor({ images }: { readonly images: readonly Tagged[] }) {
  const t = useTranslations("pictures.marks");
  const [text, setText] = useState("");
  const own = useTags();
  const tag = useTagging("tag");
  const untag = useTagging("untag");
  const used = useMemo(() => tagsOfAll(images), [images]);
  const offered = useMemo(() => {
    const sought = text.trim().toLowerCase();
    const isOnAll = (name: string) => used.some((each) => each.isOnAll && each.name === name);
    const names = (own ?? []).map(({ name }) => name).filter((name) => !isOnAll(name));
    return names.filter((name) => name.toLowerCase().includes(sought)).slice(0, 8);
  }, [own, text, used]);
  const add = (name: string) => {
    setText("");
    if (name.trim() !== "") tag.mutate({ images, name: name.trim() });
  };
  return (
    <div className="flex flex-col gap-2">
      <ul aria-label={t("tags")} className="flex flex-wrap gap-1.5 empty:hidden">
        {used.map(({ name, isOnAll }) => (
          <li
            key={name}
            className={cx(
              "flex h-7 items-center rounded-full border border-line ps-2.5 text-xs",
              !isOnAll && "border-dashed text-quiet",
            )}
          >
            <span className="max-w-44 truncate">{name}</span>
            <button
              type="button"
              aria-label={t("untag", { name })}
              onClick={() => untag.mutate({ images, name })}
              className="touch flex size-7 items-center justify-center rounded-full text-quiet hover:text-ink"
            >
              <X className="size-3.5" aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      <Autocomplete.Root items={offered} mode="none" value={text} onValueChange={setText} openOnInputClick>
        <Autocomplete.Input
          aria-label={t("addTag")}
          placeholder={t("addTag")}
          maxLength={40}
          autoCapitalize="none"
          className={cx(inputStyle, "h-9!")}
          onKeyDown={(event) => {
            // A suggestion that is chosen by arrows is entered by the list itself.
            if (event.key !== "Enter" || event.currentTarget.getAttribute("aria-activedescendant")) return;
            event.preventDefault();
            add(text);
          }}
        />
        <Autocomplete.Portal>
          <Autocomplete.Positioner sideOffset={6} align="start" className="z-60">
            <Autocomplete.Popup className="max-h-[min(320px,var(--available-height))] w-(--anchor-width) overflow-y-auto rounded-card bg-raised shadow-float outline-none not-data-empty:p-1">
              <Autocomplete.List>
                {(name: string) => (
                  <Autocomplete.Item
                    key={name}
                    value={name}
                    onClick={() => add(name)}
                    className="flex min-h-9 cursor-pointer items-center truncate rounded-control px-2.5 text-sm outline-none select-none data-highlighted:bg-hover"
                  >
                    {name}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Popup>
          </Autocomplete.Positioner>
        </Autocomplete.Portal>
      </Autocomplete.Root>
    </div>
  );
}

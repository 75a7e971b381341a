"use client";
import { Star, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { isTyping } from "../frame/run-button.tsx";
import { useRemoveImages, useStar } from "../pictures/actions.tsx";
import { Button, IconButton } from "../ui/button.tsx";

/** The chosen ids without pictures that are not shown; the same set object when nothing changes. */
export function keepShown(
  chosen: ReadonlySet<string>,
  images: readonly { readonly id: string }[],
): ReadonlySet<string> {
  if (chosen.size === 0) return chosen;
  const kept = new Set(images.map((image) => image.id).filter((id) => chosen.has(id)));
  return kept.size === chosen.size ? chosen : kept;
}

/** Ids between two items, both included, in list order; only the second id when the list no longer has the first. */
export function rangeBetween(items: readonly { readonly id: string }[], from: string, to: string): string[] {
  const start = items.findIndex((item) => item.id === from);
  const end = items.findIndex((item) => item.id === to);
  if (start === -1 || end === -1) return [to];
  return items.slice(Math.min(start, end), Math.max(start, end) + 1).map((item) => item.id);
}

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly images: readonly ImageView[];
  readonly toggle: (id: string, isRange: boolean) => void;
  readonly clear: () => void;
  readonly star: () => void;
  readonly remove: () => void;
}

const none: ReadonlySet<string> = new Set();

function focusedTile(): string | undefined {
  return document.activeElement instanceof HTMLElement ? document.activeElement.dataset.tile : undefined;
}

/** The chosen pictures, and the actions on them. The shortcuts work only while the viewer is closed. */
export function useSelection(images: readonly ImageView[], isInFront: boolean): Selection {
  const [chosenIds, setIds] = useState(none);
  const ids = useMemo(() => keepShown(chosenIds, images), [chosenIds, images]);
  // A picture that a filter hid is not chosen again when the filter is removed.
  if (ids !== chosenIds) setIds(ids);
  const anchor = useRef<string | null>(null);
  const star = useStar();
  const removeImages = useRemoveImages();

  const toggle = useCallback(
    (id: string, isRange: boolean) => {
      const range = isRange && anchor.current !== null ? rangeBetween(images, anchor.current, id) : [id];
      anchor.current = id;
      setIds((before) => {
        const after = new Set(before);
        const adds = isRange || !before.has(id);
        for (const one of range) {
          if (adds) after.add(one);
          else after.delete(one);
        }
        return after;
      });
    },
    [images],
  );
  const selection = useMemo<Selection>(() => {
    const chosen = images.filter((image) => ids.has(image.id));
    return {
      ids,
      images: chosen,
      toggle,
      clear: () => setIds(none),
      star: () =>
        star.mutate({
          ids: chosen.map((image) => image.id),
          starred: chosen.some((image) => !image.starred),
        }),
      remove: () => {
        removeImages([...ids]);
        setIds(none);
      },
    };
  }, [ids, images, removeImages, star, toggle]);

  useEffect(() => {
    if (!isInFront) return undefined;
    const keys: Record<string, () => void> = {
      Escape: selection.clear,
      Delete: () => {
        const tile = focusedTile();
        if (selection.ids.size > 0) selection.remove();
        else if (tile !== undefined) removeImages([tile]);
      },
      x: () => {
        const tile = focusedTile();
        if (tile !== undefined) toggle(tile, false);
      },
      "Control+a": () => setIds(new Set(images.map((image) => image.id))),
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const act = keys[`${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.key}`];
      if (act === undefined) return;
      if (event.key === "a") event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [images, isInFront, removeImages, selection, toggle]);
  return selection;
}

export function SelectionBar({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const count = selection.ids.size;
  if (count === 0) return null;
  const allStarred = selection.images.every((image) => image.starred);
  return (
    <div
      role="toolbar"
      data-selection-bar
      aria-label={t("selection")}
      className="stage fixed bottom-[calc(68px+env(safe-area-inset-bottom))] left-1/2 z-40 flex h-12 -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pr-2 pl-5 shadow-float wide:bottom-5"
    >
      <p role="status" className="tabular mr-3 text-xs font-medium whitespace-nowrap">
        {t("selected", { count })}
      </p>
      <Button look="quiet" size="small" onClick={selection.star}>
        <Star aria-hidden />
        {t(allStarred ? "unstarSelected" : "starSelected")}
      </Button>
      <Button look="quiet" size="small" onClick={selection.remove}>
        <Trash2 aria-hidden />
        {t("removeSelected")}
      </Button>
      <IconButton label={t("clearSelection")} side="top" onClick={selection.clear}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

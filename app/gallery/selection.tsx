"use client";
import type { ImageView } from "@atelier/server/images";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { isTyping } from "../frame/shortcuts/is-typing.ts";
import { useRemoveImages } from "../pictures/actions.tsx";
import { useStar } from "../pictures/use-star.ts";
import { keepShown } from "./keep-shown.ts";
import { rangeBetween } from "./range-between.ts";

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

/** Which pictures are chosen, and what is done with them; the keys work only while the sheet is in front. */
export function useSelection(images: readonly ImageView[], isInFront: boolean): Selection {
  const [chosenIds, setIds] = useState(none);
  const ids = useMemo(() => keepShown(chosenIds, images), [chosenIds, images]);
  // What a filter hid stays unchosen when it comes back.
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

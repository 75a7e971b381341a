"use client";
import { useQueries } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { useLayoutEffect, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageQuery } from "../client/queries.ts";
import { isTyping } from "../parts/run-button.tsx";
import { useRemoveImages } from "../pictures/actions.tsx";
import { useRemoving } from "../pictures/changes.ts";
import { useRate, useStar } from "../pictures/marks.tsx";
import { ratingOfKey } from "../pictures/rating.tsx";
import { useImageName } from "../pictures/picture.tsx";
import { failureOf } from "../ui/failures.ts";
import { isCombined, keyOnce } from "../ui/key-press.ts";
import { toastWithUndo } from "../ui/toasts.tsx";
import { compareHref, comparePath, mostCompared, readIds, swapped } from "./address.ts";

/** A picture of the comparison; `image` is undefined until it is read, and where it cannot be. */
export interface Compared {
  readonly id: string;
  /** A, B, C or D. */
  readonly letter: string;
  readonly image: ImageView | undefined;
  /** It was deleted, or is not the viewer's. */
  readonly isGone: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

const letters = ["A", "B", "C", "D"];

/** The state stays, so that the page still knows where it was opened from. */
function setIds(ids: readonly string[]): void {
  window.history.replaceState({ isOpened: window.history.state?.isOpened }, "", compareHref(ids));
}

/** Puts a picture back to its place, unless the user has left the page meanwhile. */
function putBack(id: string, at: number): void {
  const { pathname, search } = window.location;
  const ids = readIds(new URLSearchParams(search).get("ids"));
  if (pathname === comparePath && !ids.includes(id)) setIds(ids.toSpliced(at, 0, id));
}

/** What the address names, without what was deleted here, and which of it the keys are for. */
export function useCompared() {
  const ids = readIds(useSearchParams().get("ids"));
  const first = ids.slice(0, mostCompared);
  const removing = useRemoving();
  const [deleted, setDeleted] = useState<ReadonlySet<string>>(new Set());
  const [chosenId, choose] = useState<string | null>(null);
  const there = first.filter((id) => !removing.has(id) && !deleted.has(id));
  const queries = useQueries({ queries: there.map(imageQuery) });
  const shown = queries.map(({ data, error, refetch }, at): Compared => {
    const isGone = error !== null && failureOf(error).code === "not_found";
    return {
      id: there[at] ?? "",
      letter: letters[at] ?? "",
      image: isGone ? undefined : data,
      isGone,
      error,
      retry: () => void refetch(),
    };
  });
  return {
    shown,
    active: shown.find(({ id }) => id === chosenId) ?? shown[0],
    choose,
    /** All that the address names, also more than are shown. */
    ids,
    noteDeleted: (changed: readonly string[], isDeleted: boolean) =>
      setDeleted(
        (before) =>
          new Set([...[...before].filter((id) => !changed.includes(id)), ...(isDeleted ? changed : [])]),
      ),
  };
}

export type Comparison = ReturnType<typeof useCompared>;

/** What can be done with a picture of the comparison. */
export function useActs(comparison: Comparison) {
  const t = useTranslations("compare");
  const { shown, ids } = comparison;
  const nameOf = useImageName();
  const { mutate: rate } = useRate();
  const { mutate: star } = useStar();
  const remove = useRemoveImages(comparison.noteDeleted);
  /** The next one, so that the keys and the focus go on. */
  const leave = (id: string) => {
    const at = shown.findIndex((one) => one.id === id);
    const next = shown[at + 1] ?? shown[at - 1];
    if (next !== undefined) focus(next.id);
  };
  const focus = (id: string) => {
    comparison.choose(id);
    document.querySelector<HTMLElement>(`[data-compared="${id}"] [role=application]`)?.focus();
  };
  return {
    focus,
    rate: (image: ImageView, rating: number) => rate({ images: [image], value: rating }),
    star: (image: ImageView) => star({ images: [image], value: !image.starred }),
    drop: ({ id, image }: Compared) => {
      leave(id);
      setIds(ids.filter((one) => one !== id));
      if (image === undefined) return;
      toastWithUndo({
        title: t("dropped", { name: nameOf(image) }),
        undoLabel: t("undo"),
        onUndo: () => putBack(id, ids.indexOf(id)),
      });
    },
    swap: ({ id }: Compared) => {
      const order = swapped(
        shown.map((one) => one.id),
        shown.findIndex((one) => one.id === id),
      );
      // What is deleted keeps its place, for when it is restored.
      const rest = [...order];
      const isShown = new Set(order);
      setIds(ids.map((one) => (isShown.has(one) ? (rest.shift() ?? one) : one)));
    },
    remove: (id: string) => {
      leave(id);
      remove([id]);
    },
  };
}

export type Acts = ReturnType<typeof useActs>;

/** Keys for the active picture: those of the viewer, and how to swap, drop and go on. */
export function useCompareKeys(comparison: Comparison, acts: Acts, onLeave: () => void): void {
  // With the pictures themselves: a key is for what is seen.
  useLayoutEffect(() => {
    const { active, shown } = comparison;
    const step = (by: number) => {
      const next = shown[shown.findIndex(({ id }) => id === active?.id) + by];
      if (next !== undefined) acts.focus(next.id);
    };
    const image = active?.image;
    const keys: Record<string, (() => void) | undefined> = {
      Escape: onLeave,
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
      w: active && (() => acts.swap(active)),
      x: active && (() => acts.drop(active)),
      s: image && (() => acts.star(image)),
      Delete: image && (() => acts.remove(image.id)),
    };
    const press = (event: KeyboardEvent) => {
      // The zoom or what has the focus has taken it.
      if (event.defaultPrevented || isTyping(event) || isCombined(event)) return;
      const isOwn =
        event.target instanceof Element && event.target.closest("[role=radiogroup], [role=slider]");
      const key = keyOnce(event);
      if (key.startsWith("Arrow") && isOwn) return;
      const rating = ratingOfKey(key);
      if (rating === null) keys[key]?.();
      else if (image !== undefined) acts.rate(image, rating);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [acts, comparison, onLeave]);
}

"use client";
import { type InfiniteData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { toastWithUndo } from "../ui/toasts.tsx";
import { callFor, endReads } from "./actions.tsx";
import { type Change, tellChange } from "./changes.ts";

export type Rated = Pick<ImageView, "id" | "rating">;
type Pages = InfiniteData<{ readonly items: readonly ImageView[]; readonly nextCursor: string | null }>;

/** Changes what the cache holds of pictures, in lists and alone, until they are read again. */
export function useChangeCached() {
  const queries = useQueryClient();
  return useCallback(
    async (ids: readonly string[], change: Change) => {
      const ended = await endReads(queries, ids);
      const changing = new Set(ids);
      tellChange(changing, change);
      const changed = (image: ImageView) => (changing.has(image.id) ? change(image) : image);
      // Not all that is kept under the key of lists has pages.
      queries.setQueriesData<Pages | object>({ queryKey: keys.imageLists }, (data) =>
        data && "pages" in data
          ? { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(changed) })) }
          : data,
      );
      for (const id of ids)
        queries.setQueryData<ImageView>(keys.image(id), (image) => image && change(image));
      for (const id of ended) void queries.invalidateQueries({ queryKey: keys.image(id) });
    },
    [queries],
  );
}

type Mark = "rating" | "starred";

interface Marking<Name extends Mark> {
  readonly images: readonly Pick<ImageView, "id" | Name>[];
  readonly value: ImageView[Name];
}

interface MarkOptions<Name extends Mark> {
  readonly name: Name;
  readonly send: (ids: string[], value: ImageView[Name]) => Promise<unknown>;
  /** What is said of it; null says nothing and offers no undo. */
  readonly say: (value: ImageView[Name], count: number) => string | null;
}

/** Gives pictures a mark, with undo. */
function useMark<Name extends Mark>({ name, send, say }: MarkOptions<Name>) {
  const t = useTranslations("pictures.marks");
  const queries = useQueryClient();
  const change = useChangeCached();
  const showFailure = useFailureToast();
  const mark = async ({ images, value }: Marking<Name>) => {
    const made = await callFor(
      images.map(({ id }) => id),
      (ids) => send(ids, value),
    );
    await change(made.done, (image) => ({ ...image, [name]: value }));
    if (made.failure) throw made.failure.error;
  };
  const refresh = () => queries.invalidateQueries({ queryKey: keys.imageLists });
  const undo = async (images: Marking<Name>["images"]) => {
    for (const value of new Set(images.map((image) => image[name])))
      await mark({ images: images.filter((image) => image[name] === value), value });
  };
  return useMutation({
    mutationFn: mark,
    onSuccess: (_made, { images, value }) => {
      const title = say(value, images.length);
      if (title === null) return;
      toastWithUndo({
        title,
        undoLabel: t("undo"),
        onUndo: () =>
          void undo(images)
            .catch(showFailure)
            .finally(() => void refresh()),
      });
    },
    onError: showFailure,
    onSettled: refresh,
  });
}

/** Rates pictures; 0 takes the rating away. */
export function useRate() {
  const t = useTranslations("pictures.marks");
  return useMark({
    name: "rating",
    send: (ids, rating) => api.images.rate.mutate({ ids, rating }),
    say: (rating, count) => t("rated", { rating, count }),
  });
}

/** Stars pictures, or takes their stars away. */
export function useStar() {
  const t = useTranslations("pictures.marks");
  return useMark({
    name: "starred",
    send: (ids, starred) => api.images.star.mutate({ ids, starred }),
    say: (starred, count) => (count > 1 ? t(starred ? "starred" : "unstarred", { count }) : null),
  });
}

/** The tags of the user with the number of their pictures. */
export function useTags() {
  return useQuery({ queryKey: keys.tags, queryFn: () => api.tags.list.query() }).data?.items;
}

"use client";
import { type InfiniteData, type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { toastWithUndo } from "../ui/toasts.tsx";
import { removal } from "./changes.ts";

/** Splits a list into chunks of at most `size` items. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

/** Limit of the server for one call. */
export const idsPerCall = 500;

interface CallsMade {
  /** Ids of the calls that succeeded. */
  readonly done: readonly string[];
  /** The failure that ended the calls; null when all succeeded. */
  readonly failure: { readonly error: unknown } | null;
}

/** Calls with one chunk of ids after the other, until one call fails. */
export async function callFor(
  ids: readonly string[],
  call: (ids: string[]) => Promise<unknown>,
): Promise<CallsMade> {
  const done: string[] = [];
  for (const chunk of chunksOf(ids, idsPerCall)) {
    try {
      await call(chunk);
    } catch (error) {
      return { done, failure: { error } };
    }
    done.push(...chunk);
  }
  return { done, failure: null };
}

/** Ends the reads of these pictures: they began before a change and would bring back what was. Returns whose were under way. */
export async function endReads(queries: QueryClient, ids: readonly string[]): Promise<readonly string[]> {
  const read = ids.filter((id) => queries.getQueryState(keys.image(id))?.fetchStatus === "fetching");
  for (const id of read) await queries.cancelQueries({ queryKey: keys.image(id) });
  return read;
}

/** Keeps a picture as it was changed. */
export async function keepImage(queries: QueryClient, image: ImageView): Promise<void> {
  await endReads(queries, [image.id]);
  queries.setQueryData(keys.image(image.id), image);
}

type Pages = InfiniteData<{ readonly items: readonly ImageView[]; readonly nextCursor: string | null }>;

/** Removes pictures from the loaded pages of a list. */
function withoutImages(ids: ReadonlySet<string>) {
  // Not all that is kept under the key of lists has pages.
  return (data: Pages | object | undefined) =>
    data && "pages" in data
      ? {
          ...data,
          pages: data.pages.map((page) => ({
            ...page,
            items: page.items.filter((image) => !ids.has(image.id)),
          })),
        }
      : data;
}

/**
 * Removes pictures from the lists at once, deletes them on the server, and offers Undo. `onChange` hears of those that are
 * deleted, and of those that are back.
 */
export function useRemoveImages(
  onChange?: (ids: readonly string[], isDeleted: boolean) => void,
): (ids: readonly string[]) => void {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const freshen = async (ids: readonly string[]) => {
    void queries.invalidateQueries({ queryKey: keys.allRecentInputs });
    void queries.invalidateQueries({ queryKey: keys.jobLists });
    void queries.invalidateQueries({ queryKey: keys.wardrobe });
    void queries.invalidateQueries({ queryKey: keys.boards });
    void queries.invalidateQueries({ queryKey: keys.tags });
    for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
    await queries.invalidateQueries({ queryKey: keys.imageLists });
  };
  const showFailed = ({ failure }: CallsMade) => failure && showFailure(failure.error);
  const restore = async (ids: readonly string[]) => {
    const made = await callFor(ids, (some) => api.images.restore.mutate({ ids: some }));
    showFailed(made);
    onChange?.(made.done, false);
    await freshen(ids);
  };
  const { mutate } = useMutation({
    mutationKey: removal,
    mutationFn: async (ids: readonly string[]) => {
      let inWardrobe = 0;
      const made = await callFor(ids, async (some) => {
        inWardrobe += (await api.images.remove.mutate({ ids: some })).inWardrobe;
      });
      return { ...made, inWardrobe };
    },
    onSuccess: (made) => {
      const { done, inWardrobe } = made;
      onChange?.(done, true);
      queries.setQueriesData({ queryKey: keys.imageLists }, withoutImages(new Set(done)));
      if (done.length > 0)
        toastWithUndo({
          title: t("removed", { count: done.length }),
          text: inWardrobe > 0 ? t("removedFromWardrobe", { count: inWardrobe }) : undefined,
          undoLabel: t("undo"),
          onUndo: () => void restore(done),
        });
      showFailed(made);
    },
    // The removal stays pending, and its pictures hidden, until the lists have been read anew.
    onSettled: (_made, _error, ids) => freshen(ids),
  });
  return mutate;
}

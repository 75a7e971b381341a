"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { DuplicateGroup, Merge } from "@atelier/server/duplicates";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { keys } from "../../client/queries.ts";
import { toastWithUndo } from "../../ui/toasts.tsx";

export interface Acts {
  /** Keeps one picture of a group and moves the others to the trash. */
  readonly merge: (group: DuplicateGroup, keepId: string) => void;
  /** They are no duplicates, and are not shown again. */
  readonly dismiss: (group: DuplicateGroup) => void;
  /** Merges all groups, also those that are not loaded; `keepIds` in place of what is proposed. */
  readonly mergeAll: (keepIds: readonly string[]) => void;
  readonly isMergingAll: boolean;
  /** Groups that are answered, before the list is read again. */
  readonly answered: ReadonlySet<string>;
}

/** What can be done with groups, each with undo. */
export function useActs(): Acts {
  const t = useTranslations("duplicates");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const refresh = () =>
    Promise.all(
      [keys.duplicates, keys.images, keys.boards, keys.tags, keys.usage, keys.wardrobe, keys.links].map(
        (queryKey) => queries.invalidateQueries({ queryKey }),
      ),
    );
  const hide = (id: string) => setAnswered((before) => new Set([...before, id]));
  const show = (id: string) => setAnswered((before) => new Set([...before].filter((each) => each !== id)));

  const undo = async (merges: readonly Merge[]) => {
    const { left, error } = await takeBackAll(merges);
    if (error !== undefined) onError(error);
    if (left.length > 0)
      toastWithUndo({
        title: t("undoLeft", { count: left.length }),
        undoLabel: t("undo"),
        onUndo: () => void undo(left),
      });
    setAnswered(new Set());
    await refresh();
  };
  const offerUndo = (merges: readonly Merge[]) =>
    toastWithUndo({
      title: t("merged", { count: merges.reduce((sum, { removedIds }) => sum + removedIds.length, 0) }),
      text: t("mergedText"),
      undoLabel: t("undo"),
      onUndo: () => void undo(merges),
    });

  const merge = useMutation({
    mutationFn: ({ group, keepId }: { group: DuplicateGroup; keepId: string }) =>
      api.duplicates.merge.mutate({ keepId, removeIds: idsOf(group).filter((id) => id !== keepId) }),
    onMutate: ({ group }) => hide(group.id),
    onSuccess: (made) => offerUndo([made]),
    onError: (error, { group }) => {
      show(group.id);
      onError(error);
    },
    onSettled: refresh,
  });
  const setDismissed = (group: DuplicateGroup, dismissed: boolean) =>
    api.duplicates.dismiss.mutate({ imageIds: idsOf(group), dismissed });
  const takeBack = useMutation({
    mutationFn: (group: DuplicateGroup) => setDismissed(group, false),
    onSuccess: (_done, group) => show(group.id),
    onError,
    onSettled: refresh,
  });
  const dismiss = useMutation({
    mutationFn: (group: DuplicateGroup) => setDismissed(group, true),
    onMutate: (group) => hide(group.id),
    onSuccess: (_done, group) =>
      toastWithUndo({
        title: t("dismissed"),
        undoLabel: t("undo"),
        onUndo: () => takeBack.mutate(group),
      }),
    onError: (error, group) => {
      show(group.id);
      onError(error);
    },
    onSettled: refresh,
  });
  const mergeAll = useMutation({
    mutationFn: async (keepIds: readonly string[]) => {
      const merges: Merge[] = [];
      // What was merged before a failure can be taken back, too.
      try {
        for (let left = 1; left > 0;) {
          const part = await api.duplicates.mergeAll.mutate({ keepIds: [...keepIds] });
          merges.push(...part.merges);
          left = part.merges.length === 0 ? 0 : part.left;
        }
      } finally {
        if (merges.length > 0) offerUndo(merges);
      }
    },
    onError,
    onSettled: refresh,
  });
  return {
    merge: (group, keepId) => merge.mutate({ group, keepId }),
    dismiss: (group) => dismiss.mutate(group),
    mergeAll: (keepIds) => mergeAll.mutate(keepIds),
    isMergingAll: mergeAll.isPending,
    answered,
  };
}

const idsOf = (group: DuplicateGroup) => group.pictures.map(({ id }) => id);

/** As many as one call takes. */
const undoneAtOnce = 50;

/** Those that could not be taken back are left; they stop no others. */
async function takeBackAll(merges: readonly Merge[]) {
  const left: Merge[] = [];
  let error: unknown;
  for (let at = 0; at < merges.length; at += undoneAtOnce) {
    const part = merges.slice(at, at + undoneAtOnce);
    try {
      const { failed } = await api.duplicates.undo.mutate({ merges: part });
      left.push(...part.filter((_merge, index) => failed.includes(index)));
    } catch (thrown) {
      error = thrown;
      left.push(...part);
    }
  }
  return { left, error };
}

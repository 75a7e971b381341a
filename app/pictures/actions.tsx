"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { toastWithUndo } from "../ui/toasts.ts";
import { callFor, type CallsMade } from "./chunks-of.ts";
import { withoutImages } from "./without-images.ts";

/** Takes pictures away at once and offers to bring them back. */
export function useRemoveImages(): (ids: readonly string[]) => void {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useCallback(
    (ids) => {
      const freshen = () => {
        void queries.invalidateQueries({ queryKey: keys.imageLists });
        void queries.invalidateQueries({ queryKey: keys.allRecentInputs });
        void queries.invalidateQueries({ queryKey: keys.jobLists });
        for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
      };
      const showFailed = ({ failure }: CallsMade) => failure && showFailure(failure.error);
      const restore = (removed: readonly string[]) =>
        callFor(removed, (some) => api.images.restore.mutate({ ids: some }))
          .then(showFailed)
          .finally(freshen);
      const offerUndo = (removed: readonly string[]) =>
        toastWithUndo({
          title: t("removed", { count: removed.length }),
          undoLabel: t("undo"),
          onUndo: () => void restore(removed),
        });
      const remove = async () => {
        // A list that is on its way would bring the pictures back.
        await queries.cancelQueries({ queryKey: keys.imageLists });
        queries.setQueriesData({ queryKey: keys.imageLists }, withoutImages(new Set(ids)));
        const made = await callFor(ids, (some) => api.images.remove.mutate({ ids: some }));
        if (made.done.length > 0) offerUndo(made.done);
        showFailed(made);
      };
      void remove().finally(freshen);
    },
    [queries, showFailure, t],
  );
}

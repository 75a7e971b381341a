"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { api } from "../data/api.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { toastWithUndo } from "../ui/toasts.ts";
import { chunksOf } from "./chunks-of.ts";
import { withoutImages } from "./without-images.ts";

/** As many as the server takes in one call. */
const idsPerCall = 500;

async function callFor(ids: readonly string[], call: (ids: string[]) => Promise<unknown>): Promise<void> {
  for (const chunk of chunksOf(ids, idsPerCall)) await call(chunk);
}

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
      const restore = () =>
        callFor(ids, (some) => api.images.restore.mutate({ ids: some }))
          .catch(showFailure)
          .finally(freshen);
      const offerUndo = () =>
        toastWithUndo({
          title: t("removed", { count: ids.length }),
          undoLabel: t("undo"),
          onUndo: () => void restore(),
        });
      const remove = async () => {
        // A list that is on its way would bring the pictures back.
        await queries.cancelQueries({ queryKey: keys.imageLists });
        queries.setQueriesData({ queryKey: keys.imageLists }, withoutImages(new Set(ids)));
        await callFor(ids, (some) => api.images.remove.mutate({ ids: some }));
      };
      void remove().then(offerUndo, showFailure).finally(freshen);
    },
    [queries, showFailure, t],
  );
}

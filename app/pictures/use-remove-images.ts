"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { api } from "../data/api.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { toastWithUndo } from "../ui/toasts.ts";
import { withoutImages } from "./without-images.ts";

/** Takes pictures away at once and offers to bring them back. */
export function useRemoveImages(): (ids: readonly string[]) => void {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useCallback(
    (ids) => {
      const freshen = () => void queries.invalidateQueries({ queryKey: ["images", "list"] });
      const fail = (error: unknown) => {
        showFailure(error);
        freshen();
      };
      queries.setQueriesData({ queryKey: ["images", "list"] }, withoutImages(new Set(ids)));
      const restore = () => api.images.restore.mutate({ ids: [...ids] }).then(freshen, fail);
      const offerUndo = () =>
        toastWithUndo({
          title: t("removed", { count: ids.length }),
          undoLabel: t("undo"),
          onUndo: () => void restore(),
        });
      api.images.remove.mutate({ ids: [...ids] }).then(offerUndo, fail);
    },
    [queries, showFailure, t],
  );
}

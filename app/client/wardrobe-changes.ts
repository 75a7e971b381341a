"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { api } from "./api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "./queries.ts";
import { ensureGuest } from "./session.ts";
import { createJobSubmission, submitAgreed } from "./submit/job.ts";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";
import type { WardrobeItem, What } from "./wardrobe.ts";

interface Wish {
  readonly imageId: string;
  readonly what: What;
  /** Cuts the garment out of its photo on the way. */
  readonly cutsOut?: boolean;
}

/** Starts the cut-out of a garment; on own machines alone, since nobody was asked for a price. */
async function startCutOut(imageId: string): Promise<string | undefined> {
  const request = { kind: "remove_background", inputs: { image: imageId }, ownOnly: true } as const;
  const [job] = await submitAgreed(createJobSubmission(), [request], { maxPriceUsd: 0 });
  return job?.id;
}

/** Puts pictures into the wardrobe. */
export function useAddToWardrobe() {
  const t = useTranslations("wardrobe");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useMutation({
    mutationFn: async ({ imageId, what, cutsOut = false }: Wish) => {
      const cutOutJobId = cutsOut ? await startCutOut(imageId) : undefined;
      return api.wardrobe.add.mutate({ imageId, what, cutOutJobId });
    },
    onSuccess: ({ what }) => toastDone(t(`added.${what}`)),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.wardrobe }),
  });
}

interface FromAddress extends Omit<Wish, "imageId"> {
  readonly url: string;
}

/** Puts the picture at a public address into the wardrobe; rejects with why it cannot be had. */
export function useAddFromAddress() {
  const queries = useQueryClient();
  const { mutateAsync: add } = useAddToWardrobe();
  return useMutation({
    mutationFn: async ({ url, ...wish }: FromAddress) => {
      await ensureGuest();
      const { imageId } = await api.wardrobe.importPicture.mutate({ url, what: wish.what });
      // The picture is there, whatever comes of the rest, which says so itself.
      void queries.invalidateQueries({ queryKey: keys.imageLists });
      await add({ imageId, ...wish });
    },
  });
}

/** Takes items out of the wardrobe, with undo; their pictures stay. */
export function useRemoveItems(): (items: readonly WardrobeItem[]) => void {
  const t = useTranslations("wardrobe");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useCallback(
    (items) => {
      const refresh = () => queries.invalidateQueries({ queryKey: keys.wardrobe });
      const undo = async () => {
        await api.wardrobe.restore.mutate({ ids: items.map(({ id }) => id) }).catch(showFailure);
        await refresh();
      };
      api.wardrobe.remove
        .mutate({ ids: items.map(({ id }) => id) })
        .then(() =>
          toastWithUndo({
            title: t("removed", { count: items.length }),
            undoLabel: t("undo"),
            onUndo: () => void undo(),
          }),
        )
        .catch(showFailure)
        .finally(() => void refresh());
    },
    [queries, showFailure, t],
  );
}

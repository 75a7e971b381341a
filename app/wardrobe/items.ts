"use client";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { WardrobeItem } from "@atelier/server/wardrobe";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys } from "../client/queries.ts";
import { ensureGuest } from "../client/session.ts";
import { createJobSubmission, submitAgreed } from "../client/submit.ts";
import type { Category } from "../studio/state.ts";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";

export type { WardrobeItem };
export type What = WardrobeItem["what"];

/** An item that is being cut out is read again after this time. */
const cutOutMs = 2_000;

/** All items of the user, the newest first. */
export function useWardrobe() {
  return useQuery({
    queryKey: keys.wardrobe,
    queryFn: () => api.wardrobe.list.query(),
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ isBeingCutOut }) => isBeingCutOut) === true ? cutOutMs : false,
  });
}

interface Wish {
  readonly imageId: string;
  readonly what: What;
  /** Cuts the garment out of its photo on the way. */
  readonly cutsOut?: boolean;
}

/** Starts the cut-out of a garment; on own machines alone, since nobody was asked for a price. */
async function startCutOut(imageId: string): Promise<string | null> {
  const request = { kind: "remove_background", inputs: { image: imageId }, ownOnly: true } as const;
  const [job] = await submitAgreed(createJobSubmission(), [request], { maxPriceUsd: 0 });
  return job?.id ?? null;
}

/** Puts pictures into the wardrobe. */
export function useAddToWardrobe() {
  const t = useTranslations("wardrobe");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useMutation({
    mutationFn: async ({ imageId, what, cutsOut = false }: Wish) => {
      const cutOutJobId = cutsOut ? await startCutOut(imageId) : null;
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

/** Whether the statement about a person's photo was made; undefined until it is known. */
export function useConsent(imageId: string | null): boolean | undefined {
  const { data } = useQuery({
    queryKey: keys.consent(imageId ?? ""),
    queryFn: () => api.wardrobe.hasConsent.query({ imageId: imageId ?? "" }),
    enabled: imageId !== null,
    retry: false,
  });
  return imageId === null ? undefined : data?.isGiven;
}

interface Statement {
  readonly imageId: string;
  /** False takes it back. */
  readonly isStated: boolean;
}

/** Stores on the server that a photo shows an adult who agrees, or that this is no longer stated. */
export function useStateConsent() {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationKey: keys.consents,
    mutationFn: ({ imageId, isStated }: Statement) =>
      isStated
        ? api.wardrobe.stateConsent.mutate({ imageId })
        : api.wardrobe.withdrawConsent.mutate({ imageId }),
    onError,
    // It stays pending until what is shown is what is stored. Another picture may have the same bytes.
    onSettled: () =>
      Promise.all([keys.consents, keys.wardrobe].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
}

/** Whether a statement is being stored or taken back. */
export const useIsStating = () => useIsMutating({ mutationKey: keys.consents }) > 0;

/** What an item is called: its name, else its colour and category. */
export function useItemName() {
  const t = useTranslations("wardrobe");
  return ({ name, what, category, colour }: WardrobeItem) => {
    if (name !== "") return name;
    if (what === "person") return t("person");
    const kind = t(`categories.${category ?? "none"}`);
    return colour === null ? kind : t("unnamed", { colour: t(`colours.${colour}`), kind });
  };
}

/** Letters without case and accents. */
const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** Whether an item fits what the page's address asks for: `what`, `category`, `colour`, and each word of `q` in its name or tags. */
export function itemMatches(item: WardrobeItem, params: Pick<URLSearchParams, "get">): boolean {
  const isWanted = (name: "what" | "category" | "colour") =>
    params.get(name) === null || params.get(name) === item[name];
  if (!isWanted("what") || !isWanted("category") || !isWanted("colour")) return false;
  const words = plain(params.get("q") ?? "")
    .split(/\s+/)
    .filter((word) => word !== "");
  const text = plain([item.name, ...item.tags].join(" "));
  return words.every((word) => text.includes(word));
}

/** What a garment is ordered as; null for what no engine dresses. */
export const categoryOfGarment: Readonly<Record<NonNullable<WardrobeItem["category"]>, Category | null>> = {
  top: "top",
  outerwear: "top",
  bottom: "bottom",
  dress: "dress",
  shoes: null,
  accessory: null,
};

type Categorised = Pick<WardrobeItem, "category">;

/** What is kept, and worn by no engine yet: shoes and accessories. */
export function isNotWorn({ category }: Categorised): boolean {
  return category !== null && categoryOfGarment[category] === null;
}

/** The category of the studio for an item that is worn; what has none is for the engine to judge. */
export function studioCategory({ category }: Categorised): Category {
  return (category === null ? null : categoryOfGarment[category]) ?? "auto";
}

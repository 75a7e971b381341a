"use client";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import type { WardrobeItem } from "@atelier/server/wardrobe";
import { api } from "./api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "./queries.ts";

/** What a garment is ordered as; with `auto` the engine judges. */
export const categories = ["auto", "top", "bottom", "dress"] as const;
export type Category = (typeof categories)[number];

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

/** Whether the statement about a person's photo was made; undefined until it is known, false where it cannot be read. */
export function useConsent(imageId: string | null): boolean | undefined {
  const { data, isError } = useQuery({
    queryKey: keys.consent(imageId ?? ""),
    queryFn: () => api.wardrobe.hasConsent.query({ imageId: imageId ?? "" }),
    enabled: imageId !== null,
    retry: false,
  });
  return imageId === null ? undefined : (data?.isGiven ?? (isError ? false : undefined));
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

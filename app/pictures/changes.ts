"use client";
import { useMutationState } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ImageView } from "@atelier/server/images";
import { createListeners } from "../ui/listeners.ts";

/** What lists must know of changes, apart from what makes them, whose code comes later. */
type Changed = ImageView & { readonly stackSize?: number | null };
export type Change = (image: Changed) => Changed;
const changes = createListeners<[ids: ReadonlySet<string>, change: Change]>();

/** Tells what changes in pictures, for who holds some that no list has; returns how to stop. */
export const watchPictures = changes.watch;
export const tellChange = changes.notify;

/** The key under which pictures are removed. */
export const removal = ["pictures", "removal"];

/** The pictures that are being removed: a list that is read meanwhile may still hold them. */
export function useRemoving(): ReadonlySet<string> {
  const filters = { mutationKey: removal, status: "pending" } as const;
  // Safe: the key is that of `useRemoveImages`.
  const removing = useMutationState({
    filters,
    select: ({ state }) => state.variables as readonly string[] | undefined,
  });
  return useMemo(() => new Set(removing.flatMap((ids) => ids ?? [])), [removing]);
}

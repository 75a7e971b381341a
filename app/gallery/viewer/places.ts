"use client";
import { useMemo } from "react";
import type { ImageView } from "@atelier/server/images";
import { useRemoving } from "../../pictures/changes.ts";
import { useStack } from "../stack.tsx";
import { firstIndexOf } from "../timeline.ts";
import type { GalleryPart, ViewerAddress } from "./door.tsx";

/** The picture `by` places further; undefined where there is none, or the first is not in the list. */
function neighbourOf(images: readonly ImageView[], at: number, by: number): string | undefined {
  return at === -1 ? undefined : images[at + by]?.id;
}

/**
 * The number of a picture, from 1, and how many there are: of the whole list, of which the gallery reads a part. Null where
 * the list does not have the picture, or the months are not counted yet.
 */
export function positionOf(
  images: readonly Pick<ImageView, "createdAt">[],
  at: number,
  part: GalleryPart | undefined,
): { readonly number: number; readonly count: number } | null {
  if (at === -1) return null;
  if (part === undefined || (part.isFromNewest && part.isToOldest))
    return { number: at + 1, count: images.length };
  if (part.months === null) return null;
  let pictures = 0;
  const months = part.months.map(({ month, pictures: own }) => {
    const start = pictures;
    pictures += own;
    return { month, start };
  });
  const first = part.isFromNewest ? 0 : firstIndexOf(images, months, part.firstIndex);
  // A picture that came or went since the months were counted.
  const number = Math.max(1, first + at + 1);
  return { number, count: Math.max(number, pictures) };
}

interface Options {
  readonly image: ImageView;
  readonly images: readonly ImageView[];
  readonly address: ViewerAddress;
  readonly part: GalleryPart | undefined;
}

/** Where the viewer can go from a picture: to the next one of the list, and within its stack. */
export function usePlaces({ image, images, address, part }: Options) {
  const hasStacks = part !== undefined;
  const stack = useStack(hasStacks ? image.stackId : null);
  const removing = useRemoving();
  const pages = stack.data?.pages;
  const members = useMemo(
    () => (pages ?? []).flatMap(({ items }) => items.filter(({ id }) => !removing.has(id))),
    [pages, removing],
  );
  const placeOf = (id: string | null) => {
    const own = images.findIndex((one) => one.id === id);
    // Of a stack the list has another picture.
    return own === -1 && hasStacks ? images.findIndex((one) => one.stackId === image.stackId) : own;
  };
  const at = placeOf(image.id);
  const [previous, next] = [neighbourOf(images, at, -1), neighbourOf(images, at, 1)];
  const inStack = members.findIndex((one) => one.id === image.id);
  const go = (to: string | undefined) => to !== undefined && address.move(to);
  return {
    stack,
    members,
    position: positionOf(images, at, part),
    previous,
    next,
    step: (by: number) => go(neighbourOf(images, placeOf(address.currentId()), by)),
    stepInStack: (by: number) =>
      go(
        neighbourOf(
          members,
          members.findIndex((one) => one.id === address.currentId()),
          by,
        ),
      ),
    afterRemoval: () => {
      const others = [neighbourOf(members, inStack, 1), neighbourOf(members, inStack, -1), next, previous];
      const to = others.find((id) => id !== undefined);
      if (to === undefined) address.close();
      else address.move(to);
    },
  };
}

"use client";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useRef } from "react";
import { isTyping } from "../parts/run-button.tsx";
import { useRemoveImages } from "../pictures/actions.tsx";
import { isCopyKey, useCopyPicture } from "../pictures/copy.tsx";
import { useRate, useStar } from "../pictures/marks.tsx";
import { useTurn } from "../pictures/turn.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { toastDone } from "../ui/toasts.tsx";
import { pagesOf } from "./pages.ts";
import { isOverPage, type Selection } from "./selection.tsx";
import { type ListedImage, readStackIds, tileKey } from "./stack.tsx";
import type { GalleryWindow } from "./window.ts";

/** So many pictures are chosen at once at the most: each is held by the page, and sent with what is done to all. */
const mostChosen = 5_000;

/**
 * What the pages have besides what is chosen, up to so many together; null where they have more. Nothing comes twice: it may have
 * been taken out of the selection meanwhile.
 */
export async function* unchosenOf<Image extends Pick<ListedImage, "id" | "stackId" | "stackSize">>(
  pages: AsyncIterable<readonly Image[]>,
  chosen: readonly Image[],
  most: number,
): AsyncGenerator<readonly Image[] | null> {
  const known = new Set(chosen.map(tileKey));
  for await (const page of pages) {
    const others = page.filter((image) => !known.has(tileKey(image)));
    const added = others.slice(0, Math.max(0, most - known.size));
    for (const image of added) known.add(tileKey(image));
    yield added;
    if (added.length === others.length) continue;
    yield null;
    return;
  }
}

type Part = Pick<GalleryWindow, "isFromNewest" | "isToOldest" | "search">;

/** Chooses all pictures of the list, of which those that are read are chosen already; ends once nothing is chosen any more. */
function useChooseUnread({ isFromNewest, isToOldest, search }: Part, selection: Selection) {
  const t = useTranslations("gallery");
  const showFailure = useFailureToast();
  const reading = useRef<AbortController | null>(null);
  const isNothing = selection.ids.size === 0;
  useEffect(() => {
    if (isNothing) reading.current?.abort();
  }, [isNothing]);
  useEffect(() => () => reading.current?.abort(), [search]);
  const read = async ({ signal }: AbortController, listed: readonly ListedImage[]) => {
    const pages = pagesOf({ search: search || undefined }, signal);
    for await (const added of unchosenOf(pages, listed, mostChosen)) {
      if (signal.aborted) return;
      if (added === null) toastDone(t("mostChosen", { count: mostChosen }));
      else selection.choose((before) => [...before, ...added]);
    }
  };
  return (listed: readonly ListedImage[]) => {
    reading.current?.abort();
    if (isFromNewest && isToOldest) return;
    const now = new AbortController();
    reading.current = now;
    read(now, listed).catch((error: unknown) => {
      if (!now.signal.aborted) showFailure(error);
    });
  };
}

/** Deletes stacks with all of their pictures, read first where the list has only the one on top. */
function useRemoveStacks(): (tops: readonly ListedImage[]) => void {
  const removeImages = useRemoveImages();
  const showFailure = useFailureToast();
  return useCallback(
    (tops) => {
      const isStack = ({ stackSize }: ListedImage) => (stackSize ?? 1) > 1;
      const single = tops.filter((image) => !isStack(image)).map(({ id }) => id);
      const stacks = tops.filter(isStack).map(({ stackId }) => stackId);
      if (stacks.length === 0) removeImages(single);
      else readStackIds(stacks).then((ids) => removeImages([...single, ...ids]), showFailure);
    },
    [removeImages, showFailure],
  );
}

interface Props {
  readonly part: Part;
  readonly selection: Selection;
}

/** What is done with pictures of the list, by keys and by the bar of the selection. */
export function ListActs({ part, selection }: Props) {
  const { mutate: star } = useStar();
  const { mutate: rate } = useRate();
  const remove = useRemoveStacks();
  const turn = useTurn();
  const copy = useCopyPicture();
  const copyMeant = useEffectEvent((event: KeyboardEvent) => {
    if (!isCopyKey(event) || isTyping(event) || isOverPage(event)) return;
    const [image, ...others] = selection.meant();
    if (image === undefined || others.length > 0) return;
    event.preventDefault();
    copy(image.id);
  });
  useEffect(() => {
    window.addEventListener("keydown", copyMeant);
    return () => window.removeEventListener("keydown", copyMeant);
  }, []);
  const chooseUnread = useEffectEvent(useChooseUnread(part, selection));
  const { connect } = selection;
  useLayoutEffect(
    () =>
      connect({
        remove,
        chooseUnread: (listed) => chooseUnread(listed),
        star: (images) => star({ images, value: images.some(({ starred }) => !starred) }),
        rate: (images, value) => rate({ images, value }),
        turn: (images, turns) =>
          turn(
            images.map(({ id }) => id),
            turns,
          ),
      }),
    [connect, rate, remove, star, turn],
  );
  return null;
}

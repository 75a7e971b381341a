"use client";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { isTyping } from "../parts/run-button.tsx";
import { isNewestFirst } from "../client/search-terms.ts";
import { isCombined, keyOnce } from "../ui/key-press.ts";
import { watchPictures } from "../pictures/changes.ts";
import { ratingOfKey } from "../pictures/rating.tsx";
import { type ListedImage, tileKey } from "./stack.tsx";

/** What of a list is read: pictures beyond its ends are there, too, unless it ends there. */
export interface ReadPart<Image> {
  readonly images: readonly Image[];
  readonly isFromNewest: boolean;
  readonly isToOldest: boolean;
  /** What the pictures were found by; null while none are read, also after a failure. */
  readonly search: string | null;
}

type Listed = Pick<ListedImage, "id" | "stackId" | "stackSize" | "createdAt">;

export interface Chosen<Image> {
  readonly search: string | null;
  /** By their `tileKey`. */
  readonly images: ReadonlyMap<string, Image>;
}

/** As the list stands: photos of one burst have one time. */
const placeOf = ({ createdAt, id }: Listed) => `${createdAt} ${id}`;
const byNewest = (a: Listed, b: Listed) => (placeOf(a) < placeOf(b) ? 1 : -1);

/** The chosen pictures as they are now, without those that the list has no more; the same object when nothing changes. */
export function keepListed<Image extends Listed>(
  chosen: Chosen<Image>,
  { images, isFromNewest, isToOldest, search }: ReadPart<Image>,
): Chosen<Image> {
  if (chosen.images.size === 0 || search === null) return chosen;
  const [newest, oldest] = [images[0], images.at(-1)];
  // Where another picture stands only a list of days knows.
  const isUnknown = !isNewestFirst(search) && !(isFromNewest && isToOldest);
  const isBeyond = (image: Image) =>
    chosen.search === search &&
    (isUnknown ||
      (!isFromNewest && newest !== undefined && placeOf(image) > placeOf(newest)) ||
      (!isToOldest && oldest !== undefined && placeOf(image) < placeOf(oldest)));
  const listed = new Map(images.map((image) => [tileKey(image), image]));
  const kept = new Map<string, Image>();
  for (const [key, image] of chosen.images) {
    const now = listed.get(key) ?? (isBeyond(image) ? image : undefined);
    if (now !== undefined) kept.set(key, now);
  }
  const isSame =
    kept.size === chosen.images.size && [...kept].every(([id, image]) => chosen.images.get(id) === image);
  return isSame && chosen.search === search ? chosen : { search, images: kept };
}

/** The chosen pictures after a change of some, of which the list may have none; the same object when it has nothing to do with them. */
export function withChange<Image extends Listed>(
  chosen: Chosen<Image>,
  ids: ReadonlySet<string>,
  change: (image: Image) => Partial<Image>,
): Chosen<Image> {
  const isMeant = ({ id }: Listed) => ids.has(id);
  if (![...chosen.images.values()].some(isMeant)) return chosen;
  const changed = ([key, image]: [string, Image]) =>
    [key, isMeant(image) ? { ...image, ...change(image) } : image] as const;
  return { ...chosen, images: new Map([...chosen.images].map(changed)) };
}

/** Ids between two items, both included, in list order; only the second id when the list no longer has the first. */
export function rangeBetween(items: readonly { readonly id: string }[], from: string, to: string): string[] {
  const start = items.findIndex((item) => item.id === from);
  const end = items.findIndex((item) => item.id === to);
  if (start === -1 || end === -1) return [to];
  return items.slice(Math.min(start, end), Math.max(start, end) + 1).map((item) => item.id);
}

export interface Selection {
  /** Each is a `tileKey`. */
  readonly ids: ReadonlySet<string>;
  /** The pictures on top. */
  readonly images: readonly ListedImage[];
  readonly toggle: (key: string, isRange: boolean) => void;
  /** What a key is for: all that is chosen, else the picture with the focus; nothing below the viewer. */
  readonly meant: () => readonly ListedImage[];
  /** These, and no others, made of what is chosen by then. */
  readonly choose: (change: (before: readonly ListedImage[]) => readonly ListedImage[]) => void;
  readonly clear: () => void;
  readonly star: () => void;
  readonly remove: () => void;
  /** Tells how pictures are starred, rated and removed, once that is there. */
  readonly connect: (acts: Acts) => void;
  /** Keeps what is chosen for who comes back to this page. */
  readonly leave: () => void;
}

const nothing: Chosen<ListedImage> = { search: null, images: new Map() };

/** What was chosen when the page was left. */
const chosenBefore = (): Chosen<ListedImage> | null =>
  (typeof window === "undefined" ? null : window.history.state?.chosen) ?? null;

function focusedTile(): string | undefined {
  return document.activeElement instanceof HTMLElement ? document.activeElement.dataset.stack : undefined;
}

/** In a dialog or a menu, whose keys are its own: Delete there would delete what is selected below. */
export function isOverPage({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest("[role=dialog], [role=menu]") !== null;
}

/** What is done with pictures: its code comes after the list, and keys that were pressed before wait for it. */
interface Acts {
  readonly star: (images: readonly ListedImage[]) => void;
  readonly rate: (images: readonly ListedImage[], rating: number) => void;
  readonly remove: (images: readonly ListedImage[]) => void;
  readonly turn: (images: readonly ListedImage[], turns: 1 | 3) => void;
  /** Chooses also what the list has not read; what it has is chosen already. */
  readonly chooseUnread: (listed: readonly ListedImage[]) => void;
}

function useActs() {
  const acts = useRef<Acts | null>(null);
  const waiting = useRef<((acts: Acts) => void)[]>([]);
  const ask = useCallback((run: (acts: Acts) => void) => {
    if (acts.current === null) waiting.current.push(run);
    else run(acts.current);
  }, []);
  const connect = useCallback((now: Acts) => {
    acts.current = now;
    for (const run of waiting.current.splice(0)) run(now);
  }, []);
  return { ask, connect };
}

interface SelectionInput {
  readonly part: ReadPart<ListedImage>;
  readonly isReading: boolean;
  /** The shortcuts work only while the viewer is closed. */
  readonly isInFront: boolean;
}

/** The chosen pictures, and the actions on them. */
export function useSelection({ part, isReading, isInFront }: SelectionInput): Selection {
  const { images } = part;
  const tiles = useMemo(() => images.map((image) => ({ id: tileKey(image), image })), [images]);
  const [chosen, setChosen] = useState(nothing);
  const [before, setBefore] = useState(chosenBefore);
  // After the list is read again: what came back meanwhile is in it.
  if (before !== null && !isReading) {
    setBefore(null);
    setChosen(before);
  }
  // Once: not when the page is opened again.
  useEffect(() => {
    if (window.history.state?.chosen) window.history.replaceState(null, "");
  }, []);
  const kept = keepListed(chosen, part);
  // A picture that a filter hid is not chosen again when the filter is removed.
  if (kept !== chosen) setChosen(kept);
  const anchor = useRef<string | null>(null);
  useEffect(() => watchPictures((ids, change) => setChosen((before) => withChange(before, ids, change))), []);
  const { ask, connect } = useActs();
  const { search } = part;

  const choose = useCallback(
    (change: (before: ReadonlyMap<string, ListedImage>) => Iterable<readonly [string, ListedImage]>) =>
      setChosen((before) => ({ search, images: new Map(change(before.images)) })),
    [search],
  );
  const clear = useCallback(() => setChosen(nothing), []);
  const toggle = useCallback(
    (id: string, isRange: boolean) => {
      const range = isRange && anchor.current !== null ? rangeBetween(tiles, anchor.current, id) : [id];
      anchor.current = id;
      const inRange = new Set(range);
      const changed = tiles.filter((tile) => inRange.has(tile.id));
      choose((before) => {
        const after = new Map(before);
        const adds = isRange || !before.has(id);
        for (const { id: one, image } of changed) {
          if (adds) after.set(one, image);
          else after.delete(one);
        }
        return after;
      });
    },
    [choose, tiles],
  );
  const selection = useMemo<Selection>(() => {
    const chosenImages = [...kept.images.values()].toSorted(byNewest);
    return {
      ids: new Set(kept.images.keys()),
      images: chosenImages,
      meant: () => {
        if (!isInFront) return [];
        return chosenImages.length > 0
          ? chosenImages
          : images.filter((image) => tileKey(image) === focusedTile());
      },
      toggle,
      choose: (change) =>
        choose((before) => change([...before.values()]).map((image) => [tileKey(image), image] as const)),
      clear,
      star: () => ask(({ star }) => star(chosenImages)),
      remove: () => {
        ask(({ remove }) => remove(chosenImages));
        clear();
      },
      connect,
      leave: () => window.history.replaceState({ chosen: kept }, ""),
    };
  }, [ask, choose, clear, connect, images, isInFront, kept, toggle]);

  // With the list itself: a key is for what is seen.
  useLayoutEffect(() => {
    if (!isInFront) return undefined;
    const { meant } = selection;
    const actOn = (act: (acts: Acts, images: readonly ListedImage[]) => void) => {
      const images = meant();
      if (images.length > 0) ask((acts) => act(acts, images));
    };
    const keys: Record<string, () => void> = {
      Escape: selection.clear,
      Delete: () => {
        actOn(({ remove }, images) => remove(images));
        selection.clear();
      },
      s: () => actOn(({ star }, images) => star(images)),
      r: () => actOn(({ turn }, images) => turn(images, 1)),
      R: () => actOn(({ turn }, images) => turn(images, 3)),
      x: () => {
        const key = focusedTile();
        if (key !== undefined) toggle(key, false);
      },
      "Control+a": () => {
        choose(() => tiles.map(({ id, image }) => [id, image] as const));
        ask(({ chooseUnread }) => chooseUnread(images));
      },
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.altKey || isOverPage(event)) return;
      const key = keyOnce(event);
      const isControl = isCombined(event);
      const rating = isControl ? null : ratingOfKey(key);
      if (rating !== null) actOn(({ rate }, images) => rate(images, rating));
      const act = keys[`${isControl ? "Control+" : ""}${key}`];
      if (act === undefined) return;
      if (isControl) event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [ask, choose, images, isInFront, selection, tiles, toggle]);
  return selection;
}

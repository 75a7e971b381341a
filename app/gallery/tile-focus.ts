"use client";
import { useEffect, useRef } from "react";
import { isCombined } from "../ui/key-press.ts";
import type { SheetLine } from "./layout-rows.ts";

const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

interface Placed {
  readonly tile: HTMLElement;
  readonly box: DOMRect;
}

function nearestInRow(from: DOMRect, others: readonly Placed[], isBelow: boolean): HTMLElement | undefined {
  const beyond = others.filter(({ box }) =>
    isBelow ? box.top > from.bottom - 4 : box.bottom < from.top + 4,
  );
  const distance = ({ box }: Placed) =>
    Math.abs(box.top - from.top) * 10 + Math.abs(box.left + box.width / 2 - from.left - from.width / 2);
  return beyond.toSorted((a, b) => distance(a) - distance(b))[0]?.tile;
}

/** Arrow keys move the focus between tiles; up and down to the nearest tile of that row. */
function moveBetweenTiles(event: KeyboardEvent): void {
  const here = event.target;
  if (!(here instanceof HTMLElement) || here.dataset.tile === undefined || isCombined(event)) return;
  const tiles = [...document.querySelectorAll<HTMLElement>("[data-tile]")];
  const step = steps[event.key];
  let next: HTMLElement | undefined;
  if (step !== undefined) next = tiles[tiles.indexOf(here) + step];
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const others = tiles.map((tile) => ({ tile, box: tile.getBoundingClientRect() }));
    next = nearestInRow(here.getBoundingClientRect(), others, event.key === "ArrowDown");
  }
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** A picture of the list; `stack` is its own id in lists that show no stacks. */
interface Shown {
  readonly id: string;
  readonly stack: string;
}

/**
 * Which picture takes the focus of one that is gone: the one that shows its stack now, else the next of its list that is still
 * there, else the one before it.
 */
export function heirOf(id: string, before: readonly Shown[], now: readonly Shown[]): string | undefined {
  const at = before.findIndex((one) => one.id === id);
  const ids = new Set(now.map((one) => one.id));
  if (ids.has(id) || at === -1) return ids.has(id) ? id : undefined;
  const onTop = now.find(({ stack }) => stack === before[at]?.stack);
  const isThere = (one: Shown) => ids.has(one.id);
  return (onTop ?? before.slice(at + 1).find(isThere) ?? before.slice(0, at).findLast(isThere))?.id;
}

const shownIn = (lines: readonly SheetLine[]): readonly Shown[] =>
  lines.flatMap((line) =>
    line.type === "row"
      ? line.items.map(({ id, stackId, stackSize }) => ({ id, stack: stackSize === null ? id : stackId }))
      : [],
  );

/** Keeps the focus on a picture that moves into another row, where it has another button, or gives it to its heir. */
function useKeptFocus(lines: readonly SheetLine[]): void {
  const focusedId = useRef<string | undefined>(undefined);
  const listed = useRef<readonly Shown[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    const take = (target: EventTarget | null) => {
      focusedId.current = target instanceof HTMLElement ? target.dataset.tile : undefined;
    };
    const note = ({ target }: Event) => take(target);
    take(document.activeElement);
    window.addEventListener("focusin", note, { signal: leaving.signal });
    window.addEventListener("pointerdown", note, { signal: leaving.signal });
    return () => leaving.abort();
  }, []);
  useEffect(() => {
    const [before, now] = [listed.current, shownIn(lines)];
    listed.current = now;
    if (focusedId.current === undefined || document.activeElement !== document.body) return;
    const heir = heirOf(focusedId.current, before, now);
    const tile = document.querySelector<HTMLElement>(`[data-tile="${heir ?? ""}"]`);
    tile?.focus({ preventScroll: true });
  }, [lines]);
}

/** The focus among the pictures of the list: moved by keys, and kept when the list changes. */
export function useTileFocus(list: HTMLElement | null, lines: readonly SheetLine[]): void {
  useEffect(() => {
    list?.addEventListener("keydown", moveBetweenTiles);
    return () => list?.removeEventListener("keydown", moveBetweenTiles);
  }, [list]);
  useKeptFocus(lines);
}

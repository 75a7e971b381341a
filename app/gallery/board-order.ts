import type { QueryClient } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import type { Board } from "../client/boards.ts";
import { keys } from "../client/queries.ts";
import { moveItem, positionAt } from "../ui/reorder.ts";

/** The list that a chip stands in; that of saved searches is another one than that of boards. */
const listOf = (chip: Element) => chip.closest<HTMLElement>("[data-boards]");
const rowsOf = (list: HTMLElement) => [...list.querySelectorAll<HTMLElement>("[data-board]")];

/** Puts a board to another place of its list: at once on the page, then for good. */
async function moveTo(queries: QueryClient, list: HTMLElement, from: number, to: number): Promise<void> {
  const ids = rowsOf(list).map(({ dataset }) => dataset["board"] ?? "");
  const moved = moveItem(ids, from, Math.min(Math.max(to, 0), ids.length - 1));
  if (moved.join() === ids.join()) return;
  const focused = document.activeElement;
  const placeOf = new Map(moved.map((id, place) => [id, place]));
  await queries.cancelQueries({ queryKey: keys.boards, exact: true });
  queries.setQueryData<{ items: Board[] }>(keys.boards, (known) => {
    if (known === undefined) return known;
    const inList = known.items.filter(({ id }) => placeOf.has(id));
    inList.sort((one, other) => (placeOf.get(one.id) ?? 0) - (placeOf.get(other.id) ?? 0));
    return { items: known.items.map((board) => (placeOf.has(board.id) ? (inList.shift() ?? board) : board)) };
  });
  // A button that is moved in the page loses the focus.
  requestAnimationFrame(() => {
    if (focused instanceof HTMLElement) focused.focus();
  });
  const all = queries.getQueryData<{ items: Board[] }>(keys.boards)?.items ?? [];
  await api.boards.order
    .mutate({ ids: all.map(({ id }) => id) })
    .finally(() => void queries.invalidateQueries({ queryKey: keys.boards }));
}

/** One place up or down. */
export async function moveByKey(queries: QueryClient, chip: Element, by: number): Promise<void> {
  const list = listOf(chip);
  const row = chip.closest<HTMLElement>("[data-board]");
  if (list === null || row === null) return;
  const from = rowsOf(list).indexOf(row);
  await moveTo(queries, list, from, from + by);
}

/** From so many pixels on a press is a drag. */
const leastPx = 6;
const [lineAbove, lineBelow] = ["shadow-[0_-2px_0_var(--ink)]", "shadow-[0_2px_0_var(--ink)]"];

/** Follows a pointer that was pressed on a chip, until it is let go; where the boards are a strip nothing is dragged. */
function dragChip(
  chip: Element,
  { pointerId, clientY: startY }: Pick<PointerEvent, "clientY" | "pointerId">,
  onDrop: (list: HTMLElement, from: number, to: number) => void,
): void {
  const list = listOf(chip);
  const row = chip.closest<HTMLElement>("[data-board]");
  const rows = list ? rowsOf(list) : [];
  const boxes = rows.map((one) => one.getBoundingClientRect());
  if (list === null || row === null || boxes[0]?.top === boxes[1]?.top) return;
  const from = rows.indexOf(row);
  const middles = boxes.map(({ top, height }) => top + height / 2);
  const listening = new AbortController();
  const { signal } = listening;
  let to: number | null = null;
  const mark = (next: number | null) => {
    for (const one of rows) one.classList.remove(lineAbove, lineBelow);
    row.classList.toggle("opacity-45", next !== null);
    to = next;
    if (next !== null && next !== from) rows[next]?.classList.add(next < from ? lineAbove : lineBelow);
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== pointerId) return;
    // It was let go before this code was there.
    if (event.buttons === 0) return end(event);
    if (to !== null || Math.abs(event.clientY - startY) >= leastPx)
      mark(positionAt(middles, event.clientY, from));
  };
  const end = (event: PointerEvent) => {
    if (event.pointerId !== pointerId) return;
    const dropped = event.type === "pointerup" ? to : null;
    mark(null);
    listening.abort();
    if (dropped === null) return;
    // The click that ends a drag chooses no board.
    const spend = (click: Event) => {
      click.preventDefault();
      click.stopPropagation();
    };
    window.addEventListener("click", spend, { capture: true, once: true });
    setTimeout(() => window.removeEventListener("click", spend, { capture: true }));
    onDrop(list, from, dropped);
  };
  window.addEventListener("pointermove", move, { signal });
  for (const type of ["pointerup", "pointercancel"] as const) window.addEventListener(type, end, { signal });
}

/** Drags a board to another place of its list. */
export function moveByPointer(
  queries: QueryClient,
  chip: Element,
  press: Pick<PointerEvent, "clientY" | "pointerId">,
  onFailure: (error: unknown) => void,
): void {
  dragChip(chip, press, (list, from, to) => void moveTo(queries, list, from, to).catch(onFailure));
}

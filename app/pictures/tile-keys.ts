import { isCombined } from "../ui/key-press.ts";

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

/** Arrow keys move the focus between the tiles of a part of the page; up and down to the nearest tile of that row. */
export function moveBetweenTiles(event: KeyboardEvent, part: ParentNode): void {
  const here = event.target;
  if (!(here instanceof HTMLElement) || here.dataset.tile === undefined || isCombined(event)) return;
  const tiles = [...part.querySelectorAll<HTMLElement>("[data-tile]")];
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

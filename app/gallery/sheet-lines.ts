import type { ImageView } from "@atelier/server/images";
import { justify, type JustifyOptions, type Row } from "./layout-rows.ts";

/** One line of the virtual list: the head of a day, or a row of its pictures. */
export type SheetLine =
  | { readonly type: "day"; readonly day: string; readonly heightPx: number }
  | ({ readonly type: "row"; readonly key: string } & Row<ImageView>);

const dayHeightPx = 52;

/** Local calendar day, `2026-11-21`. */
export function dayOf(iso: string): string {
  const date = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

function groupByDay(images: readonly ImageView[]): Map<string, ImageView[]> {
  const days = new Map<string, ImageView[]>();
  for (const image of images) {
    const day = dayOf(image.createdAt);
    const group = days.get(day);
    if (group === undefined) days.set(day, [image]);
    else group.push(image);
  }
  return days;
}

export function sheetLines(images: readonly ImageView[], options: JustifyOptions): SheetLine[] {
  return [...groupByDay(images)].flatMap(([day, group]) => [
    { type: "day", day, heightPx: dayHeightPx } satisfies SheetLine,
    ...justify(group, options).map((row): SheetLine => ({
      type: "row",
      key: row.items[0]?.id ?? day,
      ...row,
    })),
  ]);
}

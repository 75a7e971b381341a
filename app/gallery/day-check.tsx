"use client";
import { useMutation } from "@tanstack/react-query";
import { Check, Minus } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useMemo } from "react";
import { withoutOrder } from "../client/search-terms.ts";
import { cx, Spinner } from "../ui/button.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { dayOf, today } from "./layout-rows.ts";
import { pagesOf } from "./pages.ts";
import type { Selection } from "./selection.tsx";
import { type ListedImage, tileKey } from "./stack.tsx";
import type { GalleryWindow } from "./window.ts";

type Part = Pick<GalleryWindow, "images" | "isFromNewest" | "isToOldest" | "search">;

/** What of a day is read, and whether the list goes on with it beyond that. */
export function readOfDay(day: string, { images = [], isFromNewest, isToOldest }: Omit<Part, "search">) {
  const isOf = (image: ListedImage | undefined) => image !== undefined && dayOf(image.createdAt) === day;
  const goesOn = (!isFromNewest && isOf(images[0])) || (!isToOldest && isOf(images.at(-1)));
  return { images: images.filter(isOf), goesOn };
}

/** Every picture of a day, also those that the list has not read. */
async function readWholeDay(day: string, search: string | null): Promise<ListedImage[]> {
  const from = new Date(`${day}T00:00`);
  const before = new Date(from);
  before.setDate(before.getDate() + 1);
  const jump = { from: from.toISOString(), before: before.toISOString() };
  const found: ListedImage[] = [];
  for await (const items of pagesOf({ search: withoutOrder(search || undefined), jump })) {
    found.push(...items.filter(({ createdAt }) => dayOf(createdAt) === day));
    if (found.length === 0 || items.some(({ createdAt }) => dayOf(createdAt) < day)) break;
  }
  return found;
}

interface Props {
  readonly day: string;
  readonly part: Part;
  readonly selection: Selection;
}

/** Beside the heading of a day: chooses all of its pictures, or none of them. */
export function DayCheck({ day, part, selection }: Props) {
  const t = useTranslations("gallery");
  const { dateTime } = useFormatter();
  const showFailure = useFailureToast();
  const { images, goesOn } = useMemo(() => readOfDay(day, part), [day, part]);
  const isChosen = images.map((image) => selection.ids.has(tileKey(image)));
  const [isAll, isSome] = [isChosen.every(Boolean), isChosen.some(Boolean)];
  const choose = (ofDay: readonly ListedImage[]) =>
    selection.choose((before) => [...before.filter(({ createdAt }) => dayOf(createdAt) !== day), ...ofDay]);
  const { mutate: read, isPending: isReading } = useMutation({
    mutationFn: () => readWholeDay(day, part.search),
    // Also when the heading is scrolled away meanwhile.
    onSuccess: choose,
    onError: showFailure,
  });
  const press = () => {
    if (isReading) return;
    if (goesOn && !isAll) read();
    else choose(isAll ? [] : images);
  };
  const name = dateTime(new Date(`${day}T12:00`), {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: day.slice(0, 4) === today.get().slice(0, 4) ? undefined : "numeric",
  });
  return (
    <button
      type="button"
      role="checkbox"
      aria-checked={isSome && !isAll ? "mixed" : isAll}
      aria-label={t("selectDay", { day: name })}
      aria-busy={isReading}
      onClick={press}
      className={cx(
        "touch mb-1 flex size-8 items-center justify-center self-end transition-opacity duration-120",
        selection.ids.size === 0 &&
          "opacity-0 group-hover:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100",
      )}
    >
      <span
        className={cx(
          "flex size-5 items-center justify-center rounded-full border-[1.5px] [&_svg]:size-3.5",
          isSome
            ? "border-accent bg-accent text-on-accent"
            : "border-edge text-edge forced-colors:[&>svg]:invisible",
        )}
      >
        {isReading ? (
          <Spinner />
        ) : isAll || !isSome ? (
          <Check strokeWidth={3} aria-hidden />
        ) : (
          <Minus strokeWidth={3} aria-hidden />
        )}
      </span>
    </button>
  );
}

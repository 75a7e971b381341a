"use client";
import { useFormatter, useTranslations } from "next-intl";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { cx } from "../ui/button.tsx";
import { useBoxSize } from "../ui/box-size.ts";
import { isCombined } from "../ui/key-press.ts";
import type { Month, Timeline, TimelinePlace } from "./timeline.ts";

/** A part of the track: a year is written above its latest month, and leads to it. */
interface Slot {
  readonly month: number;
  readonly label: "year" | "month";
}

function slotsOf(months: readonly Month[]): Slot[] {
  return months.flatMap((one, month): Slot[] => {
    const isNewYear = months[month - 1]?.month.slice(0, 4) !== one.month.slice(0, 4);
    return [...(isNewYear ? [{ month, label: "year" } as const] : []), { month, label: "month" }];
  });
}

/** As a share of the track; each slot has the same room, so that a month of few pictures can be hit, too. */
function shareOfPlace(slots: readonly Slot[], { month, share }: TimelinePlace): number {
  const slot = slots.findIndex((one) => one.month === month && one.label === "month");
  return (Math.max(0, slot) + share) / slots.length;
}

function placeOfShare(slots: readonly Slot[], share: number): TimelinePlace {
  const along = Math.min(slots.length - 0.001, Math.max(0, share * slots.length));
  const { month = 0, label } = slots[Math.floor(along)] ?? {};
  return { month, share: label === "year" ? 0 : along % 1 };
}

/** The month that a key leads to from another; undefined for a key that leads nowhere. */
function monthByKey(key: string, months: readonly Month[], from: number): number | undefined {
  const last = months.length - 1;
  const yearOf = (month: number) => months[month]?.month.slice(0, 4) ?? "";
  const steps: Readonly<Record<string, () => number>> = {
    ArrowDown: () => from + 1,
    ArrowRight: () => from + 1,
    ArrowUp: () => from - 1,
    ArrowLeft: () => from - 1,
    Home: () => 0,
    End: () => last,
    PageDown: () => months.findIndex((_, month) => yearOf(month) < yearOf(from)),
    PageUp: () => {
      const newer = months.findLastIndex((_, month) => yearOf(month) > yearOf(from));
      return newer === -1 ? 0 : months.findIndex((_, month) => yearOf(month) === yearOf(newer));
    },
  };
  const to = steps[key]?.();
  if (to === undefined) return undefined;
  return key === "PageDown" && to === -1 ? last : Math.min(last, Math.max(0, to));
}

/** The place in view, read again with each frame in which something scrolls. */
function usePlace(placeNow: () => TimelinePlace | null): TimelinePlace {
  const [place, setPlace] = useState<TimelinePlace>({ month: 0, share: 0 });
  useEffect(() => {
    const read = () =>
      setPlace((before) => {
        const now = placeNow() ?? before;
        return now.month === before.month && now.share === before.share ? before : now;
      });
    read();
    window.addEventListener("scroll", read, { passive: true });
    return () => window.removeEventListener("scroll", read);
  }, [placeNow]);
  return place;
}

interface Props {
  readonly timeline: Timeline;
  readonly placeNow: () => TimelinePlace | null;
  readonly onGo: (place: TimelinePlace) => void;
}

const slotPx = 28;
/** A pointer that moves less has clicked. */
const clickPx = 3;
/** Below this height of a slot only years are written. */
const leastSlotPx = 15;

/** Years and months at the side of the gallery: a click, a key, or pulling along it leads to a month. */
export function Scrubber({ timeline, placeNow, onGo }: Props) {
  const t = useTranslations("gallery.timeline");
  const format = useFormatter();
  const { months } = timeline;
  const slots = useMemo(() => slotsOf(months), [months]);
  const [track, setTrack] = useState<HTMLDivElement | null>(null);
  const { height } = useBoxSize(track);
  const place = usePlace(placeNow);
  const [isPulled, setPulled] = useState(false);
  /** Where it was taken: from the middle of the handle, and at which height of the screen. */
  const taken = useRef({ fromMiddlePx: 0, atPx: 0 });
  const nameOf = (month: number) => {
    const date = new Date(`${months[month]?.month ?? "2000-01"}-01T12:00:00`);
    return format.dateTime(date, { month: "long", year: "numeric" });
  };
  const name = nameOf(place.month);
  const hasMonths = height / slots.length >= leastSlotPx;

  const placeUnder = (event: PointerEvent<HTMLElement>): TimelinePlace => {
    const { top = 0, height: heightPx = 1 } = track?.getBoundingClientRect() ?? {};
    return placeOfShare(slots, (event.clientY - taken.current.fromMiddlePx - top) / heightPx);
  };
  const take = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    const handle = event.target instanceof Element ? event.target.closest("[data-handle]") : null;
    const box = handle?.getBoundingClientRect();
    const fromMiddlePx = box === undefined ? 0 : event.clientY - box.top - box.height / 2;
    taken.current = { fromMiddlePx, atPx: event.clientY };
    event.currentTarget.setPointerCapture(event.pointerId);
    setPulled(true);
    // A click leads to the newest pictures of a month, and pulling to any of them.
    if (box === undefined) onGo({ ...placeUnder(event), share: 0 });
  };
  const pull = (event: PointerEvent<HTMLElement>) => {
    if (isPulled && Math.abs(event.clientY - taken.current.atPx) > clickPx) onGo(placeUnder(event));
  };
  const press = (event: KeyboardEvent) => {
    // Not the place that was drawn: keys may come faster.
    const month = monthByKey(event.key, months, (placeNow() ?? place).month);
    if (month === undefined || isCombined(event)) return;
    event.preventDefault();
    onGo({ month, share: 0 });
  };
  return (
    <div className="pointer-events-none fixed top-30 inset-e-0 bottom-[calc(var(--tabs)+76px)] z-30 w-11 wide:inset-y-0 wide:w-14 wide:border-s wide:border-line wide:bg-paper wide:py-5">
      <div
        ref={setTrack}
        role="slider"
        tabIndex={0}
        aria-label={t("label")}
        aria-orientation="vertical"
        aria-valuemin={1}
        aria-valuemax={months.length}
        aria-valuenow={place.month + 1}
        aria-valuetext={t("month", { month: name, count: months[place.month]?.pictures ?? 0 })}
        data-pulled={isPulled || undefined}
        onKeyDown={press}
        onPointerDown={take}
        onPointerMove={pull}
        onPointerUp={() => setPulled(false)}
        onPointerCancel={() => setPulled(false)}
        onLostPointerCapture={() => setPulled(false)}
        className="group relative h-full cursor-pointer touch-none select-none focus-visible:-outline-offset-2 max-wide:focus-visible:outline-none wide:pointer-events-auto"
        style={{ maxHeight: `max(60%, ${slots.length * slotPx}px)` }}
      >
        {slots.map(({ month, label }, slot) => (
          <SlotLabel
            key={`${label}-${months[month]?.month}`}
            month={months[month]?.month ?? ""}
            label={label}
            topShare={(slot + 0.5) / slots.length}
            isShown={hasMonths || label === "year"}
            isNow={month === place.month && label === "month"}
          />
        ))}
        <span
          data-handle
          className="pointer-events-auto absolute inset-e-0 flex h-11 w-11 -translate-y-1/2 touch-none items-center justify-end wide:hidden"
          style={{ top: `${shareOfPlace(slots, place) * 100}%` }}
        >
          <span className="me-1 h-10 w-1.5 rounded-full bg-quiet outline-offset-2 outline-ink group-focus-visible:outline-2 group-data-pulled:bg-accent" />
        </span>
        <span
          aria-hidden
          className="pointer-events-none absolute inset-e-0 hidden h-0.5 w-3 bg-accent wide:block"
          style={{ top: `${shareOfPlace(slots, place) * 100}%` }}
        />
        <span
          aria-hidden
          className="tabular pointer-events-none absolute inset-e-13 hidden -translate-y-1/2 rounded-control bg-raised px-3 py-1.5 text-sm font-medium whitespace-nowrap shadow-float group-focus-visible:block group-data-pulled:block wide:inset-e-16"
          style={{ top: `${shareOfPlace(slots, place) * 100}%` }}
        >
          {name}
        </span>
      </div>
    </div>
  );
}

interface SlotLabelProps {
  readonly month: string;
  readonly label: "year" | "month";
  /** Where its middle is, as a share of the track. */
  readonly topShare: number;
  readonly isShown: boolean;
  readonly isNow: boolean;
}

function SlotLabel({ month, label, topShare, isShown, isNow }: SlotLabelProps) {
  const format = useFormatter();
  const date = new Date(`${month}-01T12:00:00`);
  if (!isShown) return null;
  return (
    <span
      data-month={label === "month" ? month : undefined}
      aria-hidden
      className={cx(
        "tabular pointer-events-none absolute inset-e-1 -translate-y-1/2 text-[11px] leading-none max-wide:hidden max-wide:rounded-control max-wide:bg-raised max-wide:px-1 max-wide:py-0.5 wide:inset-x-0 wide:text-center",
        label === "year" ? "font-semibold max-wide:group-data-pulled:block" : "text-quiet",
        isNow && "font-semibold text-accent!",
      )}
      style={{ top: `${topShare * 100}%` }}
    >
      {label === "year" ? month.slice(0, 4) : format.dateTime(date, { month: "short" })}
    </span>
  );
}

import { keepNewest } from "./kept.ts";

/**
 * The zone of this machine: of users whose browser has told none, as those who come by Telegram or the API alone. UTC where
 * the machine names none, as with an empty or a wrong TZ: its answer is then no zone at all.
 */
export function ownZone(): string {
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name !== undefined && isTimeZone(name) ? name : "UTC";
}

/** Whether a name is one of a time zone here; browsers know newer ones. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

/** By the name in lower case: a name may come in any case. A format takes some 30 kB, and offsets make thousands of names. */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 100;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const name = timeZone.toLowerCase();
  const known = formats.get(name);
  if (known) return known;
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    calendar: "iso8601",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  keepNewest(formats, [name, format], mostFormats);
  return format;
}

/** The day of a moment in a zone, `YYYY-MM-DD`. */
export function dayOf(timeZone: string, at: Date): string {
  const parts = formatOf(timeZone).formatToParts(at);
  const of = (name: Intl.DateTimeFormatPartTypes) => parts.find(({ type }) => type === name)?.value ?? "";
  return `${of("year").padStart(4, "0")}-${of("month")}-${of("day")}`;
}

/** How many of these moments each day of a zone has, the days in the order of the moments. */
export function countByDay(timeZone: string, moments: readonly Date[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const moment of moments) {
    const day = dayOf(timeZone, moment);
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  return counts;
}

/** Today with its name, since "on Friday" needs it: `2026-11-25 (Wednesday)`. */
export function todayIn(timeZone: string, now = new Date()): string {
  const name = new Intl.DateTimeFormat("en", { timeZone, weekday: "long" }).format(now);
  return `${dayOf(timeZone, now)} (${name})`;
}

/** What clocks of a zone show is ahead of UTC by so much at a moment. */
function offsetMs(timeZone: string, atMs: number): number {
  const parts = formatOf(timeZone).formatToParts(atMs);
  const of = (name: Intl.DateTimeFormatPartTypes) =>
    Number(parts.find(({ type }) => type === name)?.value ?? 0);
  const shownMs = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return shownMs - 1_000 * Math.floor(atMs / 1_000);
}

/** The moment at which clocks of a zone show what a clock of UTC shows at `shownMs`; one of the two where they show it twice. */
export function momentIn(timeZone: string, shownMs: number): Date {
  const nearMs = shownMs - offsetMs(timeZone, shownMs);
  return new Date(shownMs - offsetMs(timeZone, nearMs));
}

const hourMs = 3_600_000;
const stepMs = hourMs / 4;
/** No zone is further ahead of UTC. */
const furthestMs = 15 * hourMs;
const dayMs = 24 * hourMs;

/** The first moment of a day in a zone, also where the clock is put forward at midnight; null for no day. */
export function startOfDay(timeZone: string, day: string): Date | null {
  const utcMs = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(utcMs)) return null;
  let atMs = utcMs - furthestMs;
  while (dayOf(timeZone, new Date(atMs)) < day) atMs += stepMs;
  return new Date(atMs);
}

/** The last moment of a day in a zone; null for no day. */
function endOfDay(timeZone: string, day: string): Date | null {
  const utcMs = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(utcMs)) return null;
  const next = startOfDay(timeZone, new Date(utcMs + dayMs).toISOString().slice(0, 10));
  return next && new Date(next.getTime() - 1);
}

/** From the first moment of one day to the last of another one, in a zone; null where no day is named, or none. */
export function periodOf(
  timeZone: string,
  { from, to }: { readonly from?: string | null | undefined; readonly to?: string | null | undefined },
): { readonly from: Date | null; readonly to: Date | null } {
  return {
    from: typeof from === "string" ? startOfDay(timeZone, from) : null,
    to: typeof to === "string" ? endOfDay(timeZone, to) : null,
  };
}

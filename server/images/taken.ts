import { type CarriedText, isXmp } from "../carried/index.ts";
import { isTimeZone, momentIn, ownZone } from "../platform/days.ts";
import { xmpTextOf } from "./xmp.ts";

/** The camera's time, its part of a second and its offset from UTC, by their tags. */
const taken = { time: 0x90_03, part: 0x92_91, offset: 0x90_11 } as const;
const digitized = { time: 0x90_04, part: 0x92_92, offset: 0x90_12 } as const;

/** More of a time is not looked at. */
const mostCharacters = 64;

/**
 * When the photo was taken, by what its file says: camera data, XMP, IPTC, and `Creation Time` of a PNG, the surest first. A time
 * without an offset from UTC is one of the zone, by default of that of users whose browser has told none. Null where none is said
 * that can be: before photography, or in the future.
 */
export function takenAt(texts: readonly CarriedText[], zone = "", now = new Date()): Date | null {
  const timeZone = isTimeZone(zone) ? zone : ownZone();
  const named = (name: string) =>
    texts
      .find((one) => one.name.toLowerCase() === name)
      ?.text.slice(0, mostCharacters)
      .trim() ?? "";
  const ofCamera = ({ time, part, offset }: typeof taken | typeof digitized) => {
    const [digits = ""] = /^\d+/.exec(named(`exif ${part}`)) ?? [];
    return named(`exif ${time}`) + (digits && `.${digits}`) + named(`exif ${offset}`);
  };
  const packets = texts.filter(isXmp).map(({ text }) => text);
  const inXmp = (name: string) =>
    packets.map((xml) => xmpTextOf(xml, name).slice(0, mostCharacters)).find((text) => text !== "") ?? "";
  const said = [
    ofCamera(taken),
    inXmp("exif:DateTimeOriginal"),
    inXmp("photoshop:DateCreated"),
    `${named("iptc 55")}T${named("iptc 60")}`,
    ofCamera(digitized),
    inXmp("xmp:CreateDate"),
    asNumbers(named("creation time")),
  ];
  const moments = said.map((text) => momentOf(text, timeZone));
  return moments.find((at) => at !== null && at >= firstPhoto && at <= now) ?? null;
}

export const firstPhoto = new Date("1826-01-01T00:00:00Z");

/** `2016:05:12 10:11:12.5+02:00` of cameras, `2016-05-12T10:11:12` of XMP, `20160512T101112+0200` of IPTC; all but the year may be missing. */
const byNumbers =
  /^(\d{4})(?:[-:./]?(\d{2})(?:[-:./]?(\d{2})(?:[T ]+(\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[-+]\d{2}:?\d{2})?)?)?)?/i;

/** What stands for a part that is missing. */
const least = ["", "01", "01", "00", "00", "00", "", ""];
/** What has no time counts its seconds from there. */
const zero = /^1970-01-01T00:00:00/;

/** Null for what is no time. */
function momentOf(text: string, timeZone: string): Date | null {
  const parts = (byNumbers.exec(text) ?? []).slice(1).map((part, at) => part ?? least[at]);
  const [hours, minutes, seconds, part = "", offset = ""] = parts.slice(3);
  const day = parts.slice(0, 3).join("-").replaceAll("-00", "-01");
  const shown = `${day}T${hours}:${minutes}:${seconds}.${part.slice(0, 3).padEnd(3, "0")}Z`;
  const shownMs = Date.parse(shown);
  // A day that its month has not would be one of the next.
  if (Number.isNaN(shownMs) || new Date(shownMs).toISOString() !== shown) return null;
  if (zero.test(shown) && /[T ]0/.test(text)) return null;
  const offsetMs = offsetOf(offset);
  return offsetMs === null ? momentIn(timeZone, shownMs) : new Date(shownMs - offsetMs);
}

const minuteMs = 60_000;
const mostOffsetMs = 14 * 60 * minuteMs;

/** Null without one, and for more than any place on earth has. */
function offsetOf(text: string): number | null {
  if (text.toUpperCase() === "Z") return 0;
  const [, sign, hours, minutes] = /^([-+])(\d{2}):?(\d{2})$/.exec(text) ?? [];
  if (sign === undefined) return null;
  const ms = (Number(hours) * 60 + Number(minutes)) * minuteMs * (sign === "-" ? -1 : 1);
  return Math.abs(ms) <= mostOffsetMs ? ms : null;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const byName =
  /^(?:[a-z]{3},? )?(\d{1,2})[ -]([a-z]{3})[a-z]*[ -](\d{4})(?: (\d{2}:\d{2}(?::\d{2})?))? ?(?:(Z|UTC?|GMT)|([-+]\d{4}))?/i;

/** `Thu, 12 May 2016 10:11:12 +0200`, as the standard of PNG has it, in numbers; else as it is. */
function asNumbers(text: string): string {
  const [whole, day = "", name = "", year = "", time = "00:00", utc, offset = ""] = byName.exec(text) ?? [];
  const month = months.indexOf(name.toLowerCase()) + 1;
  if (whole === undefined || month === 0) return text;
  const date = [year, String(month).padStart(2, "0"), day.padStart(2, "0")].join("-");
  return `${date}T${time}${utc === undefined ? offset : "Z"}`;
}

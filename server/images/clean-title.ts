import { uploadLimits } from "./limits.ts";

// Control and format characters: NUL, line breaks, zero-width marks and those that turn the direction of text.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/** A title that is safe to show and to store: one line of printable text, at most 120 characters. */
export function cleanTitle(text: string): string {
  const printable = text.toWellFormed().replace(unprintable, "").replaceAll(/\s+/gu, " ").trim();
  return Array.from(printable).slice(0, uploadLimits.titleCharacters).join("").trim();
}

/** The title of an upload: the last part of its name without the extension. */
export function titleOfFile(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  return cleanTitle(last.replace(/\.[a-z0-9]{1,5}$/i, "").replace(/^\.+/, ""));
}

import { normalized } from "../platform/index.ts";
import { uploadLimits } from "./limits.ts";

/** The title of an upload: the last part of its name without the extension. */
export function titleOfFile(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  return cleanTitle(last.replace(/\.[a-z0-9]{1,5}$/i, "").replace(/^\.+/, ""));
}

// Control and format characters: NUL, line breaks, marks that turn the direction of text. Joiners and the parts of flags stay
// where they join: emoji and several scripts are written with them.
const unprintable = /(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
const looseJoiner =
  /(?<=^|\s)(?:\u200C|\u200D|[\u{E0020}-\u{E007F}])+|(?<!\u200C|\u200D)(?:\u200C|\u200D)+(?=\s|$)/gu;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** A title that is safe to show and to store: one line of printable text, at most 120 characters. */
export const cleanTitle = (text: string): string =>
  cut(cleanLine(text.slice(0, 4 * uploadLimits.titleCharacters)), uploadLimits.titleCharacters);

/** A description that is safe to show and to store: lines of printable text, at most 2,000 characters. */
export function cleanDescription(text: string): string {
  // Cut twice: what is cleaned is bounded, and what is left fits.
  const lines = text
    .slice(0, 4 * uploadLimits.descriptionCharacters)
    .split(lineBreak)
    .map(cleanLine);
  const spaced = lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return cut(spaced, uploadLimits.descriptionCharacters);
}

const lineBreak = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u;

function cleanLine(text: string): string {
  const printable = normalized(text.toWellFormed(), "NFC")
    .replaceAll("\t", " ")
    .replace(unprintable, "")
    .replace(looseJoiner, "");
  return printable.replaceAll(/\s+/gu, " ").trim();
}

/** Cut between what is seen as one sign; the limit counts characters, as the database does. */
function cut(text: string, most: number): string {
  let kept = "";
  let characters = 0;
  for (const { segment } of graphemes.segment(text.slice(0, 4 * most))) {
    characters += Array.from(segment).length;
    if (characters > most) break;
    kept += segment;
  }
  return kept.trim();
}

import { uploadLimits } from "./limits.ts";

/** The title of an upload: the last part of its name without the extension. */
export function titleOfFile(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  return cleanTitle(last.replace(/\.[a-z0-9]{1,5}$/i, "").replace(/^\.+/, ""));
}

// Control and format characters: NUL, line breaks, marks that turn the direction of text. Joiners and the parts of flags stay
// where they join: emoji and several scripts are written with them.
const unprintable = /(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
const looseJoiner = /(?<=^|\s)(?:\u200C|\u200D|[\u{E0020}-\u{E007F}])+|(?:\u200C|\u200D)+(?=\s|$)/gu;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** A title that is safe to show and to store: one line of printable text, at most 120 characters. */
export function cleanTitle(text: string): string {
  const printable = text.toWellFormed().normalize("NFC").replace(unprintable, "").replace(looseJoiner, "");
  const line = printable.replaceAll(/\s+/gu, " ").trim();
  let kept = "";
  let characters = 0;
  // Cut between what is seen as one sign; the limit counts characters, as the database does.
  for (const { segment } of graphemes.segment(line.slice(0, 4 * uploadLimits.titleCharacters))) {
    characters += Array.from(segment).length;
    if (characters > uploadLimits.titleCharacters) break;
    kept += segment;
  }
  return kept.trim();
}

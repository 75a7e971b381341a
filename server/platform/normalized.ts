/** A letter of any language has fewer marks; UAX #15 calls a text of this kind stream-safe. */
const mostMarks = 30;
// Half-width voicing signs are letters that become marks.
const mark = String.raw`[\p{M}\uFF9E\uFF9F]`;
const longRuns = new RegExp(`(${mark}{${mostMarks}})${mark}+`, "gu");

/**
 * A text in a Unicode normal form. Normalizing sorts the marks after a letter, in quadratic time, so a letter keeps 30 of
 * them at most.
 */
export function normalized(text: string, form: "NFC" | "NFD" | "NFKC" | "NFKD"): string {
  // oxlint-disable-next-line no-restricted-properties -- the one place where the marks are bounded
  return text.replaceAll(longRuns, "$1").normalize(form);
}

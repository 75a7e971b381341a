import { maxJobs } from "./form.ts";

/** The prompts of a list: one a line, without empty ones. */
export function promptsIn(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Words with commas between them; quotes keep a comma in its word. */
export function wordsIn(text: string): readonly string[] {
  const words = [...text.matchAll(/\s*(?:"((?:[^"\\]|\\.)*)"|([^,\n]*))\s*(?:[,\n]|$)/g)].map(
    ([, quoted, plain = ""]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? plain.trim(),
  );
  // The end of the text is no further word.
  return words.filter((word, at) => word !== "" || (at > 0 && at < words.length - 1));
}

const unsigned = String.raw`\d+(?:\.\d+)?`;
const number = `-?${unsigned}`;
/** `1-9`, `1-9 (+2)` in steps of 2, `1-9 [3]` three numbers from end to end. */
const range = new RegExp(
  String.raw`^(${number})\s*-\s*(${number})(?:\s*\(\+(${unsigned})\)|\s*\[(\d{1,3})\])?$`,
);

/** The numbers of a text; a word that is none as itself. */
export function numbersIn(text: string): readonly (number | string)[] {
  return wordsIn(text).flatMap((word) => {
    const [whole, from, to, step, count] = range.exec(word) ?? [];
    if (whole !== undefined) return between([Number(from), Number(to)], { step, count });
    return [new RegExp(`^${number}$`).test(word) ? Number(word) : word];
  });
}

function between(
  [from, to]: readonly [number, number],
  { step, count }: { readonly step: string | undefined; readonly count: string | undefined },
): number[] {
  const by = count === undefined ? Number(step ?? 1) : Math.abs(to - from) / Math.max(1, Number(count) - 1);
  if (by === 0) return [from];
  const length = Math.min(maxJobs + 1, Math.floor(Math.abs(to - from) / by + 1e-9) + 1);
  // Tenths of numbers are not exact.
  return Array.from({ length }, (_, at) => Number((from + Math.sign(to - from) * by * at).toFixed(6)));
}

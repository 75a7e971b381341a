/** What of a key press says whether an input method has it. */
type KeyPress = Pick<KeyboardEvent, "isComposing" | "keyCode">;

/** Safari ends the composition before it reports the key that ended it, which is known by this number alone. */
const keyOfInputMethod = 229;

/** Whether a key press belongs to an input method, as Enter does when it takes the word that is offered. */
export function isOfInputMethod({ isComposing, keyCode }: KeyPress): boolean {
  return isComposing || keyCode === keyOfInputMethod;
}

const groupSigns = new Map<string, string>();

/** With what a language parts the thousands, mostly. */
function groupSignOf(locale: string): string {
  const known = groupSigns.get(locale);
  if (known !== undefined) return known;
  const parts = new Intl.NumberFormat(locale).formatToParts(1_234_567);
  const sign = parts.find(({ type }) => type === "group")?.value ?? "";
  groupSigns.set(locale, sign);
  return sign;
}

/**
 * A number as people write it: with a comma or a point, with parted thousands, in wide digits. What one sign alone means
 * depends on the language: 1,024 is a thousand in English and a little more than one in German. NaN for what is none.
 */
export function readNumber(text: string, locale: string): number {
  const plain = text
    .normalize("NFKC")
    .replaceAll(/[\s'’_]/gu, "")
    .replace(/^[−–]/u, "-");
  if (!/^[+-]?[\d.,]*\d[.,]?(?:e[+-]?\d+)?$/i.test(plain)) return Number.NaN;
  const signs = plain.match(/[.,]/g) ?? [];
  const last = signs.at(-1) ?? ".";
  const [whole = "", ...groups] = plain.replace(/^[+-]/, "").split(last);
  const isGrouped = groups.every((group) => /^\d{3}$/.test(group)) && /^[1-9]\d{0,2}$/.test(whole);
  const hasOne = new Set(signs).size === 1;
  if (hasOne && isGrouped && (signs.length > 1 || last === groupSignOf(locale)))
    return Number(plain.replaceAll(last, ""));
  const other = last === "," ? "." : ",";
  return Number(plain.replaceAll(other, "").replace(last, "."));
}

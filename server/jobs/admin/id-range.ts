/** Ids that start with a text of at least six hexadecimal digits (dashes do not matter); null when it is none. */
export function idRange(text: string): { readonly low: string; readonly high: string } | null {
  const digits = text.toLowerCase().replaceAll("-", "");
  if (!/^[0-9a-f]{6,32}$/.test(digits)) return null;
  return { low: toId(digits.padEnd(32, "0")), high: toId(digits.padEnd(32, "f")) };
}

function toId(digits: string): string {
  const part = (from: number, to: number) => digits.slice(from, to);
  return [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
}

export interface DiffLine {
  readonly text: string;
  readonly kind: "same" | "added" | "removed";
}

/** For each pair of places, how many lines the rests of both texts have in common. */
function countCommon(old: readonly string[], next: readonly string[]): number[][] {
  const common = Array.from({ length: old.length + 1 }, () =>
    Array.from({ length: next.length + 1 }, () => 0),
  );
  for (const i of [...old.keys()].toReversed())
    for (const j of [...next.keys()].toReversed()) {
      const [row, below] = [common[i], common[i + 1]];
      if (!row || !below) continue;
      const [down = 0, diagonal = 0] = below.slice(j, j + 2);
      row[j] = old[i] === next[j] ? diagonal + 1 : Math.max(down, row[j + 1] ?? 0);
    }
  return common;
}

/** The lines of two texts, by their longest common part. For texts of some hundred lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, next] = [before.split("\n"), after.split("\n")];
  const common = countCommon(old, next);
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    const kind = kindOf(old[i], next[j], at(i + 1, j) >= at(i, j + 1));
    lines.push({ text: (kind === "added" ? next[j] : old[i]) ?? "", kind });
    if (kind !== "added") i += 1;
    if (kind !== "removed") j += 1;
  }
  return lines;
}

/** A word, a sign or a letter of a script without spaces, with the space before it. */
const piece = / ?(?:\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}_{}|:'-])+|\S)/gu;
/** More than these are compared by words between spaces: the comparison takes the product of both. */
const mostPieces = 600;

/** The words of two texts in one line, as `diffLines` does lines. */
export function diffWords(before: string, after: string): DiffLine[] {
  const plain = [before, after].map((text) => text.trim().replaceAll(/\s+/gu, " "));
  const pieces = plain.map((text) => text.match(piece) ?? []);
  const isLong = pieces.some(({ length }) => length > mostPieces);
  const [old = [], next = []] = isLong ? plain.map((text) => text.match(/ ?[^ ]{1,60}/gu) ?? []) : pieces;
  return diffLines(old.join("\n"), next.join("\n"));
}

function kindOf(left: string | undefined, right: string | undefined, isOldFirst: boolean): DiffLine["kind"] {
  if (left === undefined) return "added";
  if (left === right) return "same";
  return right === undefined || isOldFirst ? "removed" : "added";
}

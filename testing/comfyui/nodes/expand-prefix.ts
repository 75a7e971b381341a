import path from "node:path";
import type { Frame } from "../pictures.ts";

/** Splits a filename prefix into subfolder and stem; %width%, %height% and parts of the date expand. */
export function expandPrefix(prefix: string, first: Frame | undefined): { subfolder: string; stem: string } {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, "0");
  const words: Record<string, string> = {
    width: String(first?.widthPx ?? 0),
    height: String(first?.heightPx ?? 0),
    year: String(now.getFullYear()),
    month: two(now.getMonth() + 1),
    day: two(now.getDate()),
    hour: two(now.getHours()),
    minute: two(now.getMinutes()),
    second: two(now.getSeconds()),
  };
  const text = prefix.replaceAll(/%(\w+)%/g, (whole, word: string) => words[word] ?? whole);
  const folder = path.posix.dirname(path.posix.normalize(text));
  // No prefix at all is the folder's own name.
  const stem = text === "" ? "." : path.posix.basename(text);
  return { subfolder: folder === "." ? "" : folder, stem };
}

/** A folder as phones and cameras leave it: hundreds of files of every kind, with what becomes of each. */
export { type Fate, writeOddFiles } from "./folder.ts";

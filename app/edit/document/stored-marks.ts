import { isByClicks, type Mark, markModes } from "../mask/marks.ts";
import type { Selection } from "../mask/selection.ts";

/**
 * Marks as JSON, for the server and for drafts. Written by the shape of their values and not by their kinds, so that a new
 * kind needs one line of `markModes`: bytes are deflated, lists of points are numbers, all else stays as it is.
 */
export interface StoredMark {
  readonly mode: string;
  readonly [member: string]: unknown;
}

/** Marks that took too much space, as one picture of role `mask`. It is read as a selection with soft edges. */
export interface PictureMark extends StoredMark {
  readonly mode: "picture";
  readonly imageId: string;
  readonly widthPx: number;
  readonly heightPx: number;
}

export function isPictureMark(mark: StoredMark): mark is PictureMark {
  return mark.mode === "picture" && typeof mark["imageId"] === "string";
}

/** A mark of a kind that this page does not know, with its place: it is kept, and written back. */
export interface ForeignMark {
  readonly at: number;
  readonly stored: StoredMark;
}

type Json = Record<string, unknown>;

const bytesKey = "$deflated";
const rowsKey = "$rows";

/** Steps per px, and per unit of what is no coordinate, such as the pressure of a pen. */
const [stepsPerPx, stepsPerUnit] = [16, 1_024];
const stepsOf = (name: string) => (name === "x" || name === "y" ? stepsPerPx : stepsPerUnit);

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The names that all rows have, when their values are numbers; null for any other list. */
function columnsOf(rows: readonly unknown[]): readonly string[] | null {
  const [first] = rows;
  if (!isRecord(first)) return null;
  const names = Object.keys(first).toSorted();
  if (!names.includes("x") || !names.includes("y")) return null;
  const isRow = (row: unknown) =>
    isRecord(row) &&
    Object.keys(row).length === names.length &&
    names.every((name) => typeof row[name] === "number");
  return rows.every(isRow) ? names : null;
}

/** Each value as its difference from the row before, in whole steps. */
function packRows(rows: readonly Json[], names: readonly string[]): string {
  const last = names.map(() => 0);
  const packed: number[] = [];
  for (const row of rows)
    for (const [column, name] of names.entries()) {
      const value = Math.round(Number(row[name]) * stepsOf(name));
      packed.push(value - (last[column] ?? 0));
      last[column] = value;
    }
  return packed.join(" ");
}

function unpackRows(names: readonly string[], text: string): Json[] {
  const last = names.map(() => 0);
  const values = text === "" ? [] : text.split(" ").map(Number);
  const rows: Json[] = [];
  for (let at = 0; at < values.length; at += names.length) {
    const row: Json = {};
    for (const [column, name] of names.entries()) {
      last[column] = (last[column] ?? 0) + (values[at + column] ?? 0);
      row[name] = (last[column] ?? 0) / stepsOf(name);
    }
    rows.push(row);
  }
  return rows;
}

async function pipe(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());
}

const chunkBytes = 32_768;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += chunkBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + chunkBytes));
  return btoa(text);
}

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

async function encodeValue(value: unknown): Promise<unknown> {
  if (value instanceof Uint8Array)
    return { [bytesKey]: toBase64(await pipe(new Uint8Array(value), new CompressionStream("deflate"))) };
  if (Array.isArray(value)) {
    const names = columnsOf(value);
    return names === null
      ? Promise.all(value.map(encodeValue))
      : { [rowsKey]: names, values: packRows(value, names) };
  }
  return isRecord(value) ? mapMembers(value, encodeValue) : value;
}

async function decodeValue(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(decodeValue));
  if (!isRecord(value)) return value;
  const bytes = value[bytesKey];
  if (typeof bytes === "string") return pipe(fromBase64(bytes), new DecompressionStream("deflate"));
  const names = value[rowsKey];
  return Array.isArray(names)
    ? unpackRows(names.map(String), String(value["values"]))
    : mapMembers(value, decodeValue);
}

async function mapMembers(record: Json, map: (value: unknown) => Promise<unknown>): Promise<Json> {
  const members = Object.entries(record).map(async ([name, value]) => [name, await map(value)] as const);
  return Object.fromEntries(await Promise.all(members));
}

/** A mark never changes, so that each is written once. */
const written = new WeakMap<Mark, StoredMark>();

async function encodeMark(mark: Mark): Promise<StoredMark> {
  const known = written.get(mark);
  if (known !== undefined) return known;
  // Safe cast: the members of an object stay.
  const stored = (await encodeValue(mark)) as StoredMark;
  written.set(mark, stored);
  return stored;
}

/** Marks that stand for themselves, as those that were undone: none of them becomes a picture. */
export const encodeEach = (marks: readonly Mark[]): Promise<StoredMark[]> =>
  Promise.all(marks.map(encodeMark));

/** What `encodeEach` gives, when all marks were written before; null otherwise. */
export function encodedEach(marks: readonly Mark[]): StoredMark[] | null {
  const known = marks.map((mark) => written.get(mark)).filter((mark) => mark !== undefined);
  return known.length < marks.length ? null : known;
}

interface Folded {
  /** Number of marks, from the first. */
  readonly count: number;
  readonly stored: PictureMark;
}

/** By the last of the marks that a picture stands for. */
const folded = new WeakMap<Mark, Folded>();

/** From now on these marks, and what is made on top of them, are stored with the picture in their place. */
export function foldMarks(marks: readonly Mark[], stored: PictureMark): void {
  const last = marks.at(-1);
  if (last !== undefined) folded.set(last, { count: marks.length, stored });
}

/** The marks that have to be written one by one, and the picture that stands for those before them. */
function unfoldedOf(marks: readonly Mark[]): { picture: PictureMark | null; rest: readonly Mark[] } {
  const at = marks.findLastIndex((mark, place) => folded.get(mark)?.count === place + 1);
  const last = marks[at];
  const picture = last === undefined ? null : (folded.get(last)?.stored ?? null);
  const rest = marks.slice(at + 1);
  // A later selection by clicks takes the place of one that may be in the picture, and none of the strokes.
  const isReplaced = at > 0 && rest.some(isByClicks);
  return picture === null || isReplaced ? { picture: null, rest: marks } : { picture, rest };
}

/** Puts the marks of unknown kinds back to their places. */
function withForeign(stored: readonly StoredMark[], foreign: readonly ForeignMark[]): StoredMark[] {
  const all = [...stored];
  for (const { at, stored: mark } of foreign) all.splice(Math.min(at, all.length), 0, mark);
  return all;
}

export async function encodeMarks(
  marks: readonly Mark[],
  foreign: readonly ForeignMark[] = [],
): Promise<StoredMark[]> {
  const { picture, rest } = unfoldedOf(marks);
  const stored = await encodeEach(rest);
  return withForeign(picture === null ? stored : [picture, ...stored], foreign);
}

/** What `encodeMarks` gives, when all marks were written before; null otherwise. For the end of a page, which waits for nothing. */
export function encodedMarks(
  marks: readonly Mark[],
  foreign: readonly ForeignMark[] = [],
): StoredMark[] | null {
  const { picture, rest } = unfoldedOf(marks);
  const known = encodedEach(rest);
  return known && withForeign(picture === null ? known : [picture, ...known], foreign);
}

/** Reads the selection that a picture of role `mask` is. */
export type ReadPicture = (picture: PictureMark) => Promise<Selection>;

async function decodePicture(stored: PictureMark, readPicture: ReadPicture): Promise<Mark | null> {
  try {
    const mark = await readPicture(stored);
    foldMarks([mark], stored);
    return mark;
  } catch {
    return null;
  }
}

interface DecodedMarks {
  readonly marks: readonly Mark[];
  readonly foreign: readonly ForeignMark[];
}

/** Marks that cannot be read are kept like those of unknown kinds, and cost none of the others. */
export async function decodeMarks(
  stored: readonly StoredMark[],
  readPicture: ReadPicture,
): Promise<DecodedMarks> {
  const decode = (mark: StoredMark) =>
    isPictureMark(mark) ? decodePicture(mark, readPicture) : decodeMark(mark);
  const decoded = await Promise.all(stored.map(decode));
  return {
    marks: decoded.filter((mark) => mark !== null),
    foreign: stored.flatMap((mark, at) => (decoded[at] === null ? [{ at, stored: mark }] : [])),
  };
}

async function decodeMark(stored: StoredMark): Promise<Mark | null> {
  if (!Object.hasOwn(markModes, stored.mode)) return null;
  try {
    // Safe cast: a mark of a known kind was written by `encodeMark`.
    const mark = (await decodeValue(stored)) as Mark;
    written.set(mark, stored);
    return mark;
  } catch {
    return null;
  }
}

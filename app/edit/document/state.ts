import type { EditState } from "@atelier/server/edits";
import { api } from "../../client/api.ts";
import { failureOf } from "../../ui/failures.ts";
import { imageUrl } from "../../client/urls.ts";
import type { RelativeView } from "../../ui/zoom.ts";
import { uploadMask } from "../mask/export.ts";
import { type HistoryStep, type Mark, type MarkHistory, stepHistory } from "../mask/marks.ts";
import { readSelection, type Selection } from "../mask/selection.ts";
import {
  decodeMarks,
  encodedEach,
  encodedMarks,
  encodeEach,
  encodeMarks,
  foldMarks,
  type ForeignMark,
  isPictureMark,
  type PictureMark,
  type ReadPicture,
  type StoredMark,
} from "./stored-marks.ts";

export interface Version {
  readonly imageId: string;
  /** The version that it was made of; null for the picture that the edit began with. */
  readonly parentId: string | null;
}

/** The jobs of one click, and what became of their results. */
export interface Run {
  readonly jobIds: readonly string[];
  /** The version that they work on. */
  readonly parentId: string;
  /** Number of the version's marks that their mask was made of. */
  readonly spentMarks: number;
  /** Results that were looked at. */
  readonly seenIds: readonly string[];
  /** Results that became versions beside the accepted one. */
  readonly keptIds: readonly string[];
  readonly acceptedId: string | null;
  /** Accepted or discarded: the strip is closed. */
  readonly isSettled: boolean;
}

/** An edit while it is open. */
export interface OpenEdit {
  /** A tree: parents stand before their children. */
  readonly versions: readonly Version[];
  readonly currentId: string;
  readonly marks: Readonly<Record<string, readonly Mark[]>>;
  /** Of each version, what a redo brings back; it takes the last one. */
  readonly undone: Readonly<Record<string, readonly Mark[]>>;
  readonly foreign: Readonly<Record<string, readonly ForeignMark[]>>;
  readonly runs: readonly Run[];
  readonly view: RelativeView | null;
  readonly mode: string | null;
  readonly settings: EditState["settings"];
  /** Members of a later version of the studio. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export function newEdit(imageId: string): OpenEdit {
  return {
    versions: [{ imageId, parentId: null }],
    currentId: imageId,
    marks: {},
    undone: {},
    foreign: {},
    runs: [],
    view: null,
    mode: null,
    settings: {},
    rest: {},
  };
}

type StoredMarks = Readonly<Record<string, readonly StoredMark[]>>;

interface StoredLists {
  readonly marks: StoredMarks;
  readonly undone: StoredMarks;
}

function toState(
  { marks: _marks, undone: _undone, foreign: _foreign, rest, ...edit }: OpenEdit,
  { marks, undone }: StoredLists,
): EditState {
  const used = Object.entries(marks).filter(([, list]) => list.length > 0);
  const pictures = used.flatMap(([, list]) => list.filter(isPictureMark));
  // Marks that another page has changed since are not those that it was undone from.
  const redo = Object.entries(undone).map(([id, list]) => [
    id,
    { after: marks[id]?.length ?? 0, marks: list },
  ]);
  const maskIds = [...new Set(pictures.map(({ imageId }) => imageId))];
  // Safe cast: the lists are the same, and only read.
  return {
    ...rest,
    format: 1,
    maskIds,
    ...edit,
    marks: Object.fromEntries(used),
    ...(redo.length > 0 ? { undone: Object.fromEntries(redo) } : {}),
  } as unknown as EditState;
}

export async function encodeEdit(edit: OpenEdit): Promise<EditState> {
  const lists = markedIds(edit).map(
    async (id) => [id, await encodeMarks(edit.marks[id] ?? [], edit.foreign[id])] as const,
  );
  const undone = undoneOf(edit).map(async ([id, list]) => [id, await encodeEach(list)] as const);
  return toState(edit, {
    marks: Object.fromEntries(await Promise.all(lists)),
    undone: Object.fromEntries(await Promise.all(undone)),
  });
}

const undoneOf = ({ undone }: OpenEdit) => Object.entries(undone).filter(([, list]) => list.length > 0);

/** What the server stores of one edit is limited; this leaves room for what is no mask. */
const mostStateCharacters = 700_000;

/** A picture in the place of so few would save nothing. */
const leastCharacters = 2_000;

const isStorable = (state: EditState) => JSON.stringify(state).length <= mostStateCharacters;

/**
 * The state to store of an edit. Of one that takes too much space what was undone is left out first; then masks become pictures.
 * Throws what an upload throws.
 */
export async function encodeStorable(edit: OpenEdit): Promise<EditState> {
  const all = await encodeEdit(edit);
  if (isStorable(all)) return all;
  for (;;) {
    const state = await encodeEdit({ ...edit, undone: {} });
    if (isStorable(state) || !(await foldLargest(state, edit))) return state;
  }
}

/** False when no mask would get smaller; then the server says that it is too much. */
async function foldLargest(state: EditState, edit: OpenEdit): Promise<boolean> {
  const sizes = Object.entries(state.marks).map(([id, list]) => ({ id, size: JSON.stringify(list).length }));
  const [largest] = sizes.toSorted((a, b) => b.size - a.size);
  if (largest === undefined || largest.size < leastCharacters) return false;
  const marks = marksOf(edit, largest.id);
  try {
    const { widthPx, heightPx } = await api.images.get.query({ id: largest.id });
    const imageId = await uploadMask({ widthPx, heightPx }, marks);
    foldMarks(marks, { mode: "picture", imageId, widthPx, heightPx });
    return true;
  } catch (error) {
    if (failureOf(error).code === "mask_empty") return false;
    throw error;
  }
}

/** What `encodeEdit` gives, when all marks were written before; null otherwise. */
export function encodedEdit(edit: OpenEdit): EditState | null {
  const marks: Record<string, StoredMark[]> = {};
  for (const id of markedIds(edit)) {
    const list = encodedMarks(edit.marks[id] ?? [], edit.foreign[id]);
    if (list === null) return null;
    marks[id] = list;
  }
  const undone: Record<string, StoredMark[]> = {};
  for (const [id, marksOfId] of undoneOf(edit)) {
    const list = encodedEach(marksOfId);
    if (list === null) return null;
    undone[id] = list;
  }
  return toState(edit, { marks, undone });
}

function markedIds({ marks, foreign }: OpenEdit): string[] {
  return [...new Set([...Object.keys(marks), ...Object.keys(foreign)])];
}

async function readMaskPicture({ imageId, widthPx, heightPx }: PictureMark): Promise<Selection> {
  const answer = await fetch(imageUrl(imageId, "original"));
  if (!answer.ok) throw await answer.json();
  return readSelection(await answer.blob(), { widthPx, heightPx }, "soft");
}

export async function decodeEdit(
  state: EditState,
  readPicture: ReadPicture = readMaskPicture,
): Promise<OpenEdit> {
  const { format: _format, maskIds: _maskIds, versions, currentId, marks, runs, ...others } = state;
  const { view, mode, settings, undone = {}, ...rest } = others;
  const lists = await Promise.all(
    Object.entries(marks).map(async ([id, list]) => ({ id, ...(await decodeMarks(list, readPicture)) })),
  );
  const redo = Object.entries(undone).map(async ([id, { after, marks: list }]) => {
    const read = await decodeMarks(list, readPicture);
    // Without a mark that this page cannot read those before it would be another picture.
    return after === (marks[id]?.length ?? 0) && read.foreign.length === 0 ? [[id, read.marks] as const] : [];
  });
  return {
    versions,
    currentId,
    runs,
    view,
    mode,
    settings,
    rest,
    marks: Object.fromEntries(lists.map((list) => [list.id, list.marks])),
    undone: Object.fromEntries((await Promise.all(redo)).flat()),
    foreign: Object.fromEntries(
      lists.flatMap((list) => (list.foreign.length > 0 ? [[list.id, list.foreign]] : [])),
    ),
  };
}

/** What two pages must not overwrite for each other. Where they look, which tool they hold and what they undid is no work. */
export function workOf(state: EditState): string {
  const { view: _view, mode: _mode, currentId: _currentId, undone: _undone, ...work } = state;
  return JSON.stringify(work, sortedMembers);
}

/** JSON from the database has its members in another order. */
function sortedMembers(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** `chosen` with the versions and runs of `other`, and with the marks of versions that only that one has: these are never lost. */
export function mergeEdits(chosen: OpenEdit, other: OpenEdit): OpenEdit {
  const known = new Set(chosen.versions.map(({ imageId }) => imageId));
  const started = new Set(chosen.runs.flatMap(({ jobIds }) => jobIds));
  const versions = other.versions.filter(({ imageId }) => !known.has(imageId));
  const runs = other.runs.filter(({ jobIds }) => !jobIds.some((id) => started.has(id)));
  const taken = Object.keys(other.marks).filter((id) => !(id in chosen.marks));
  return {
    ...chosen,
    versions: [...chosen.versions, ...versions],
    runs: [...chosen.runs, ...runs],
    marks: { ...other.marks, ...chosen.marks },
    undone: { ...chosen.undone, ...Object.fromEntries(taken.map((id) => [id, other.undone[id] ?? noMarks])) },
    foreign: { ...other.foreign, ...chosen.foreign },
  };
}

const mostRuns = 200;

export function withVersion(edit: OpenEdit, { imageId, parentId }: Version): OpenEdit {
  if (edit.versions.some((version) => version.imageId === imageId)) return edit;
  const parent = edit.versions.find((version) => version.imageId === parentId) ?? edit.versions[0];
  return { ...edit, versions: [...edit.versions, { imageId, parentId: parent?.imageId ?? null }] };
}

export function withMarks(edit: OpenEdit, versionId: string, marks: readonly Mark[]): OpenEdit {
  if ((edit.marks[versionId] ?? noMarks) === marks) return edit;
  return { ...edit, marks: { ...edit.marks, [versionId]: marks } };
}

/** The marks of the version on the stage, and what was undone of them. */
export function historyOf({ marks, undone, currentId }: OpenEdit): MarkHistory {
  return { marks: marks[currentId] ?? noMarks, undone: undone[currentId] ?? noMarks };
}

export function withStep(edit: OpenEdit, step: HistoryStep): OpenEdit {
  const before = historyOf(edit);
  const after = stepHistory(before, step);
  if (after.marks === before.marks) return edit;
  const undone = { ...edit.undone, [edit.currentId]: after.undone };
  return { ...withMarks(edit, edit.currentId, after.marks), undone };
}

const noMarks: readonly Mark[] = [];

export function marksOf(edit: OpenEdit, versionId: string): readonly Mark[] {
  return edit.marks[versionId] ?? noMarks;
}

/** A settled run is forgotten before an open one. */
export function withRun(edit: OpenEdit, run: Run): OpenEdit {
  const runs = [...edit.runs, run];
  const excess = runs.findIndex(({ isSettled }) => isSettled);
  return { ...edit, runs: runs.length > mostRuns ? runs.toSpliced(Math.max(0, excess), 1) : runs };
}

export function changeRun(edit: OpenEdit, run: Run, change: Partial<Run>): OpenEdit {
  const [first] = run.jobIds;
  return {
    ...edit,
    runs: edit.runs.map((one) => (one.jobIds[0] === first ? { ...one, ...change } : one)),
  };
}

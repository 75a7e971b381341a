import type { EditState } from "@atelier/server/edits";
import { editDrafts } from "../../client/leaving.ts";

/** What a page holds that the server may not have yet. Each page has its own, so that tabs do not overwrite each other's. */
export interface Draft {
  /** Of the page, which writes under it. */
  readonly writer: string;
  /** The picture that the edit began with. */
  readonly imageId: string;
  /** The revision that the state was made from; 0 where none was stored. */
  readonly revision: number;
  readonly atMs: number;
  readonly state: EditState;
}

const { database, store } = editDrafts;

function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("no IndexedDB")));
  });
}

let opened: Promise<IDBDatabase> | null = null;

async function openNew(): Promise<IDBDatabase> {
  const request = indexedDB.open(database, 1);
  request.addEventListener("upgradeneeded", () =>
    request.result.createObjectStore(store, { keyPath: "writer" }),
  );
  const made = await settled(request);
  // Signing out deletes the drafts, which an open connection would hold up.
  made.addEventListener("versionchange", () => {
    made.close();
    opened = null;
  });
  return made;
}

/** Safari ends the connections of pages that were out of view, without a word: a second try opens a new one. */
async function begin(mode: IDBTransactionMode, isAgain = false): Promise<IDBObjectStore> {
  const used = (opened ??= openNew());
  try {
    return (await used).transaction(store, mode).objectStore(store);
  } catch (error) {
    if (opened === used) opened = null;
    if (isAgain) throw error;
    return begin(mode, true);
  }
}

/** Runs one request; null where the browser blocks or has no storage: then the edit is safe once the server has it. */
async function run<Value>(
  mode: IDBTransactionMode,
  request: (drafts: IDBObjectStore) => IDBRequest<Value>,
): Promise<Value | null> {
  try {
    return await settled(request(await begin(mode)));
  } catch {
    return null;
  }
}

/** Whether it is kept. */
export async function keepDraft(draft: Draft): Promise<boolean> {
  return (await run("readwrite", (drafts) => drafts.put(draft))) !== null;
}

export async function dropDraft(writer: string): Promise<void> {
  await run("readwrite", (drafts) => drafts.delete(writer));
}

const lockOf = (writer: string) => `atelier-edit ${writer}`;

/** Says that this page writes under the name, until it lets go, is closed or killed. Over plain http there are no locks. */
export function holdWriter(writer: string): () => void {
  const locks: LockManager | undefined = navigator.locks;
  const { promise, resolve } = Promise.withResolvers<void>();
  void locks?.request(lockOf(writer), () => promise);
  return resolve;
}

/** False over plain http, where browsers have no locks: the page of a draft may still be open, and must not share its writer. */
export const canTellWriters = () => "locks" in navigator;

/** The drafts of pages that are gone, or may be, for the edit that has this picture, the newest first. */
export async function leftDrafts(imageId: string): Promise<readonly Draft[]> {
  const all: readonly Draft[] = (await run("readonly", (drafts) => drafts.getAll())) ?? [];
  const locks: LockManager | undefined = navigator.locks;
  const held = new Set((await locks?.query())?.held?.map(({ name }) => name));
  const has = ({ state }: Draft) => state.versions.some((version) => version.imageId === imageId);
  return all
    .filter((draft) => has(draft) && !held.has(lockOf(draft.writer)))
    .toSorted((a, b) => b.atMs - a.atMs);
}

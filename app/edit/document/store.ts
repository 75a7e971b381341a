import type { EditState } from "@atelier/server/edits";
import { api, newId } from "../../client/api.ts";
import { type Failure, failureOf } from "../../ui/failures.ts";
import { canTellWriters, dropDraft, type Draft, holdWriter, keepDraft, leftDrafts } from "./drafts.ts";
import {
  decodeEdit,
  encodedEdit,
  encodeEdit,
  encodeStorable,
  mergeEdits,
  newEdit,
  type OpenEdit,
  workOf,
} from "./state.ts";
import { createListeners } from "../../ui/listeners.ts";

/** What the server stores of an edit. */
type Stored = NonNullable<Awaited<ReturnType<typeof api.edits.get.query>>>;

/**
 * Where the edit is kept. `saved`: on the server. `saving`: soon. `away`: in this browser, and on the server once it answers.
 * `conflict`: another window has saved another work since. `refused`: the server will not take it.
 */
export type Keeping =
  | { readonly at: "saved" | "saving" | "away" }
  | { readonly at: "conflict"; readonly theirs: Stored }
  | { readonly at: "refused"; readonly failure: Failure };

interface Snapshot {
  readonly edit: OpenEdit;
  readonly keeping: Keeping;
}

const quietMs = 1_000;
/** A hand that never rests is saved as often. */
const longestMs = 5_000;
const [firstRetryMs, lastRetryMs] = [2_000, 30_000];
/** The limit of browsers for what outlives a page, with room for other requests. */
const mostLeavingBytes = 60_000;

interface Start {
  readonly imageId: string;
  readonly writer: string;
  readonly revision: number;
  readonly edit: OpenEdit;
  /** The stored state at that revision; null where none is, or it is not known. */
  readonly synced: EditState | null;
}

/**
 * The edit of a picture while its page is open. Each change is kept in this browser at once, and saved on the server when the
 * hand has rested for a second. What a page of this browser left behind when it was killed is taken up.
 */
export async function openEdit(imageId: string) {
  const [server, [draft]] = await Promise.all([api.edits.get.query({ imageId }), leftDrafts(imageId)]);
  const own = draft && (await takeUp(draft, server));
  const start = await startOf(imageId, server, own);
  const store = createStore(start);
  // An edit that was left at another version is opened at the picture that was asked for.
  const isVersion = imageId !== start.imageId && start.edit.versions.some((one) => one.imageId === imageId);
  if (isVersion) store.update((edit) => ({ ...edit, currentId: imageId }));
  if (own !== undefined) store.touch();
  return store;
}

/** The draft under the name that this page writes under; undefined where the server lacks nothing of it, as after a last save. */
async function takeUp(draft: Draft, server: Stored | null): Promise<Draft | undefined> {
  const isSaved = server !== null && workOf(draft.state) === workOf(server.state);
  if (!isSaved && canTellWriters()) return draft;
  const own = isSaved ? undefined : { ...draft, writer: newId() };
  if (own !== undefined) await keepDraft(own);
  await dropDraft(draft.writer);
  return own;
}

async function startOf(imageId: string, server: Stored | null, draft: Draft | undefined): Promise<Start> {
  const synced = server?.state ?? null;
  if (draft !== undefined) {
    const { writer, revision, imageId: baseId, state } = draft;
    const read = server?.revision === revision ? synced : null;
    return {
      imageId: baseId,
      writer,
      revision,
      edit: await decodeEdit(state),
      synced: read,
    };
  }
  const writer = newId();
  if (server === null) return { imageId, writer, revision: 0, edit: newEdit(imageId), synced };
  const edit = await decodeEdit(server.state);
  return { imageId: server.imageId, writer, revision: server.revision, edit, synced };
}

export type EditStore = Awaited<ReturnType<typeof openEdit>>;

function createStore(start: Start) {
  const { imageId, writer } = start;
  let { revision } = start;
  const letGo = holdWriter(writer);
  let syncedWork = start.synced && workOf(start.synced);
  let { view } = start.edit;
  let hasMoved = false;
  let snapshot: Snapshot = { edit: start.edit, keeping: { at: "saved" } };
  let isDirty = false;
  let isClosed = false;
  const listeners = createListeners();
  /** The edit as it is stored, with what the stage shows. */
  const whole = (edit: OpenEdit): OpenEdit => ({ ...edit, view });

  function set(next: Partial<Snapshot>): void {
    snapshot = { ...snapshot, ...next };
    listeners.notify();
  }

  // Drafts: one write at a time, and after it the newest state.
  let isKeeping = false;
  let isStale = false;
  async function keep(): Promise<void> {
    isStale = true;
    if (isKeeping) return;
    isKeeping = true;
    while (isStale && isDirty) {
      isStale = false;
      const state = await encodeEdit(whole(snapshot.edit));
      await keepDraft({ writer, imageId, revision, atMs: Date.now(), state });
    }
    isKeeping = false;
    if (!isDirty) await dropDraft(writer);
  }

  let timer: ReturnType<typeof setTimeout> | undefined;
  let dirtySinceMs = 0;
  let retryMs = firstRetryMs;
  function schedule(afterMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void save(), afterMs);
  }

  let isSaving = false;
  async function save(): Promise<void> {
    clearTimeout(timer);
    const isHeld = snapshot.keeping.at === "conflict" || isSaving || isClosed;
    if (!isDirty || isHeld) return;
    isSaving = true;
    const { edit } = snapshot;
    try {
      const state = await encodeStorable(whole(edit));
      const saved = await api.edits.save.mutate({ imageId, revision, writer, state });
      settle(edit, saved.revision, workOf(state));
    } catch (error) {
      await refuse(failureOf(error));
    } finally {
      isSaving = false;
    }
    if (isDirty && snapshot.keeping.at === "saving") schedule(quietMs);
  }

  /** The server has this edit now. */
  function settle(edit: OpenEdit, stored: number, work: string): void {
    revision = stored;
    syncedWork = work;
    retryMs = firstRetryMs;
    isDirty = snapshot.edit !== edit;
    hasMoved = false;
    dirtySinceMs = Date.now();
    set({ keeping: { at: isDirty ? "saving" : "saved" } });
    void keep();
  }

  async function refuse(failure: Failure): Promise<void> {
    if (failure.code === "conflict") return meet();
    const isFinal = ["request_too_large", "bad_request", "not_found"].includes(failure.code);
    set({ keeping: isFinal ? { at: "refused", failure } : { at: "away" } });
    if (isFinal) return;
    schedule(retryMs);
    retryMs = Math.min(lastRetryMs, retryMs * 2);
  }

  /** Another window has saved. Only when both have worked since does a person have to choose. */
  async function meet(): Promise<void> {
    const found = await api.edits.get.query({ imageId }).catch(() => undefined);
    if (found === undefined) return refuse({ code: "offline", message: "" });
    // Another edit may have the picture as a version.
    const theirs = found?.imageId === imageId ? found : null;
    const { edit } = snapshot;
    const ownWork = workOf(await encodeEdit(edit));
    // It was removed, and nothing was done here since.
    if (theirs === null && ownWork === syncedWork) return settle(edit, 0, ownWork);
    const theirWork = theirs && workOf(theirs.state);
    const isTheirsNew = theirWork !== syncedWork && theirWork !== ownWork;
    if (theirs !== null && isTheirsNew) return set({ keeping: { at: "conflict", theirs } });
    revision = theirs?.revision ?? 0;
    set({ keeping: { at: "saving" } });
    schedule(0);
  }

  /** Only a look at a picture makes no edit of it. */
  function countLook(): void {
    if (hasMoved && revision > 0) isDirty = true;
  }

  function touch(): void {
    if (!isDirty) dirtySinceMs = Date.now();
    isDirty = true;
    void keep();
    if (snapshot.keeping.at === "conflict") return;
    set({ keeping: { at: "saving" } });
    schedule(Math.max(0, Math.min(quietMs, dirtySinceMs + longestMs - Date.now())));
  }

  async function take(theirs: Stored, choose: (own: OpenEdit, other: OpenEdit) => OpenEdit): Promise<void> {
    const other = await decodeEdit(theirs.state);
    revision = theirs.revision;
    syncedWork = workOf(theirs.state);
    set({ edit: choose(snapshot.edit, other), keeping: { at: "saving" } });
    touch();
  }

  return {
    imageId,
    read: () => snapshot,
    watch: listeners.watch,
    /** Changes the edit; the same object back changes nothing. */
    update: (change: (edit: OpenEdit) => OpenEdit) => {
      const edit = change(snapshot.edit);
      if (edit === snapshot.edit) return;
      set({ edit });
      touch();
    },
    /** Where the stage is looked at goes along with the next save, and is one by itself when the page is left. */
    look: {
      read: () => view,
      note: (at: OpenEdit["view"]) => {
        hasMoved ||= JSON.stringify(at) !== JSON.stringify(view);
        view = at;
      },
    },
    touch,
    leaveForNow: () => {
      countLook();
      void save();
    },
    saveNow: save,
    takeTheirs: async (theirs: Stored) => take(theirs, (own, other) => mergeEdits(other, own)),
    keepMine: async (theirs: Stored) => take(theirs, (own, other) => mergeEdits(own, other)),
    /** What another device has saved, when nothing was done here since. */
    freshen: async () => {
      if (isDirty || isSaving) return;
      const theirs = await api.edits.get.query({ imageId }).catch(() => null);
      if (theirs === null || theirs.imageId !== imageId || theirs.revision <= revision || isDirty) return;
      const edit = await decodeEdit(theirs.state);
      if (isDirty) return;
      revision = theirs.revision;
      syncedWork = workOf(theirs.state);
      set({ edit });
    },
    /** For the end of the page: sends what fits into a request that outlives it. The draft has all of it. */
    leave: () => {
      countLook();
      if (!isDirty || snapshot.keeping.at === "conflict") return;
      const now = whole(snapshot.edit);
      // What was undone is left out rather than the work.
      const states = [encodedEdit(now), encodedEdit({ ...now, undone: {} })].filter(
        (state) => state !== null,
      );
      const bodies = states.map((state) => JSON.stringify({ json: { imageId, revision, writer, state } }));
      const body = bodies.find(({ length }) => length <= mostLeavingBytes);
      if (body === undefined) return;
      const headers = { "content-type": "application/json" };
      void fetch("/api/trpc/edits.save", { method: "POST", keepalive: true, headers, body }).catch(
        () => undefined,
      );
    },
    /** For a page of the studio that gives way to another. What cannot be saved now is taken up by the next. */
    close: async () => {
      countLook();
      const saving = save();
      isClosed = true;
      await saving;
      letGo();
    },
  };
}

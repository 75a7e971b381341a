"use client";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { emptyHistory, type HistoryStep, type MarkHistory, stepHistory } from "../mask/marks.ts";
import { marksOf, withMarks } from "./state.ts";
import { type EditStore, openEdit } from "./store.ts";

interface Opening {
  readonly store: EditStore | null;
  readonly error: unknown;
}

/** Opens the edit of a picture, and keeps it until the page is left. */
export function useOpenEdit(imageId: string) {
  const [opening, setOpening] = useState<Opening>({ store: null, error: null });
  const [tries, setTries] = useState(1);
  useEffect(() => {
    let opened: EditStore | null = null;
    let isGone = false;
    const take = (store: EditStore) => {
      opened = store;
      if (isGone) void store.close();
      else setOpening({ store, error: null });
    };
    openEdit(imageId).then(take, (error: unknown) => isGone || setOpening({ store: null, error }));
    return () => {
      isGone = true;
      void opened?.close();
    };
  }, [imageId, tries]);
  return { ...opening, retry: () => setTries((count) => count + 1) };
}

/** The edit as it is now. The end of the page, its way to the background and the return of the network are its saves, too. */
export function useEditState(store: EditStore) {
  const snapshot = useSyncExternalStore(store.watch, store.read, store.read);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const turn = () => {
      if (document.visibilityState === "hidden") store.leaveForNow();
      else void store.freshen();
    };
    document.addEventListener("visibilitychange", turn, { signal });
    window.addEventListener("online", () => void store.saveNow(), { signal });
    window.addEventListener("pagehide", store.leave, { signal });
    return () => leaving.abort();
  }, [store]);
  return snapshot;
}

const noSteps: MarkHistory["undone"] = [];
const noneUndone: ReadonlyMap<string, MarkHistory["undone"]> = new Map();

/** The marks of the version on the stage. What was undone is known while the page is open. */
export function useMarkHistory(store: EditStore) {
  const { edit } = useSyncExternalStore(store.watch, store.read, store.read);
  const marks = marksOf(edit, edit.currentId);
  const [undone, setUndone] = useState<ReadonlyMap<string, MarkHistory["undone"]>>(noneUndone);
  const undoneOf = useRef(noneUndone);
  const step = useCallback(
    (wanted: HistoryStep) => {
      const now = store.read().edit;
      const id = now.currentId;
      const before = { marks: marksOf(now, id), undone: undoneOf.current.get(id) ?? noSteps };
      const after = stepHistory(before, wanted);
      if (after === before) return;
      undoneOf.current = new Map(undoneOf.current).set(id, after.undone);
      setUndone(undoneOf.current);
      store.update((newest) => withMarks(newest, id, after.marks));
    },
    [store],
  );
  const history = useMemo<MarkHistory>(
    () => ({ marks, undone: undone.get(edit.currentId) ?? emptyHistory.undone }),
    [edit.currentId, marks, undone],
  );
  return { history, step };
}

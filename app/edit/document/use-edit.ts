"use client";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { HistoryStep, MarkHistory } from "../mask/marks.ts";
import { historyOf, withStep } from "./state.ts";
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

/** The marks of the version on the stage, and what was undone of them: both are part of the edit. */
export function useMarkHistory(store: EditStore) {
  const { edit } = useSyncExternalStore(store.watch, store.read, store.read);
  const { marks, undone } = historyOf(edit);
  const history = useMemo<MarkHistory>(() => ({ marks, undone }), [marks, undone]);
  const step = useCallback(
    (wanted: HistoryStep) => store.update((newest) => withStep(newest, wanted)),
    [store],
  );
  return { history, step };
}

"use client";
import { useTranslations } from "next-intl";
import { useSyncExternalStore } from "react";
import { toastWithUndo } from "../ui/toasts.tsx";
import { createClient } from "./api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { createListeners } from "../ui/listeners.ts";

/** For calls that arrive although the page is being left: each is sent at once, alone. */
export const keptApi = createClient({
  fetch: (address, init) => fetch(address, { ...init, keepalive: true }),
  queries: 1,
  mutations: 1,
});

interface Removal {
  readonly id: string;
  /** What the toast says. */
  readonly title: string;
  readonly text?: string;
  /** Asks the server; by `keptApi`, since the page may be on its way out. */
  send(): Promise<unknown>;
  /** Reads the list anew; until it has, what was removed stays hidden. */
  onSettled(): Promise<unknown>;
}

interface Shown extends Removal {
  readonly undoLabel: string;
  readonly onError: (error: unknown) => void;
}

const none: ReadonlySet<string> = new Set();

/** Removals that wait for the end of their toast, and what is hidden meanwhile. */
export function createRemovals(showToast: typeof toastWithUndo) {
  const waiting = new Map<string, Shown>();
  const listeners = createListeners();
  let hidden = none;

  const setHidden = (change: (ids: Set<string>) => void) => {
    const ids = new Set(hidden);
    change(ids);
    hidden = ids;
    listeners.notify();
  };

  const sendNow = async (id: string) => {
    const removal = waiting.get(id);
    if (removal === undefined) return;
    waiting.delete(id);
    await removal.send().catch(removal.onError);
    await removal.onSettled().catch(removal.onError);
    setHidden((ids) => ids.delete(id));
  };

  return {
    defer: (removal: Shown): void => {
      const { id, title, text, undoLabel } = removal;
      waiting.set(id, removal);
      setHidden((ids) => ids.add(id));
      const onUndo = () => {
        if (waiting.delete(id)) setHidden((ids) => ids.delete(id));
      };
      showToast({ title, text, undoLabel, onUndo, onClose: () => void sendNow(id) });
    },
    sendAll: (): void => {
      for (const id of waiting.keys()) void sendNow(id);
    },
    hidden: () => hidden,
    watch: listeners.watch,
  };
}

const removals = createRemovals(toastWithUndo);

/** What is hidden because it is being removed. */
export function useHidden(): ReadonlySet<string> {
  return useSyncExternalStore(removals.watch, removals.hidden, () => none);
}

/**
 * For what the server cannot bring back: hides it at once, and asks the server when the toast with its Undo has gone, or the
 * page is left. What the server can bring back (pictures, batches, links) is removed at once and restored by Undo.
 */
export function useDeferredRemoval(): (removal: Removal) => void {
  const t = useTranslations("common");
  const onError = useFailureToast();
  return (removal) => {
    // Added once: it is the same function each time.
    window.addEventListener("pagehide", removals.sendAll);
    removals.defer({ ...removal, undoLabel: t("undo"), onError });
  };
}

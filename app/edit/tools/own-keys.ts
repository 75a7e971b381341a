"use client";
import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from "react";
import { readDraft, writeDraft } from "../../client/leaving.ts";
import { isTyping } from "../../parts/run-button.tsx";
import { type CommandId, commandOfPress, isDone, type OwnKeys, parseOwnKeys } from "./commands.ts";
import { createListeners } from "../../ui/listeners.ts";

/** In localStorage; it is no draft, and stays when the user signs out. */
const storageKey = "atelier-edit-keys";

const none: OwnKeys = {};
let known: OwnKeys | null = null;
const listeners = createListeners();

/** The keys that the user of this browser chose. */
export const ownKeys = {
  get: (): OwnKeys => (known ??= parseOwnKeys(readDraft(storageKey))),
  set: (next: OwnKeys): void => {
    known = next;
    writeDraft(storageKey, JSON.stringify(next));
    listeners.notify();
  },
  watch: listeners.watch,
};

export function useOwnKeys(): OwnKeys {
  return useSyncExternalStore(ownKeys.watch, ownKeys.get, () => none);
}

/** What commands do on a page; those that are missing do nothing. */
export type Actions = Readonly<Partial<Record<CommandId, () => void>>>;

/** Lets keys do what the commands say while the component lives. */
export function useCommands(actions: Actions): void {
  const newest = useRef(actions);
  useLayoutEffect(() => {
    newest.current = actions;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event)) return;
      const id = commandOfPress(event, ownKeys.get());
      if (id === null) return;
      const act = newest.current[id];
      if (act === undefined) return;
      event.preventDefault();
      if (isDone(id, event)) act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

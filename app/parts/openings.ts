"use client";
import { useSyncExternalStore } from "react";

type Listener = () => void;

/** Whether something of the frame is open: a store, so that any key or button can open it. */
export interface Opening {
  readonly get: () => boolean;
  readonly set: (open: boolean) => void;
  readonly watch: (listener: Listener) => () => void;
}

function createOpening(): Opening {
  let isOpen = false;
  const listeners = new Set<Listener>();
  return {
    get: () => isOpen,
    set: (open) => {
      isOpen = open;
      for (const listener of listeners) listener();
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The sheet of shortcuts. */
export const shortcutsOpen = createOpening();

/** The palette of commands. */
export const paletteOpen = createOpening();

export function useOpening({ watch, get }: Opening): boolean {
  return useSyncExternalStore(watch, get, () => false);
}

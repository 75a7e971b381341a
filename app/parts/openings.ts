"use client";
import { useSyncExternalStore } from "react";
import { createListeners } from "../ui/listeners.ts";

type Listener = () => void;

/** Whether something of the frame is open: a store, so that any key or button can open it. */
export interface Opening {
  readonly get: () => boolean;
  readonly set: (open: boolean) => void;
  readonly watch: (listener: Listener) => () => void;
}

function createOpening(): Opening {
  let isOpen = false;
  const listeners = createListeners();
  return {
    get: () => isOpen,
    set: (open) => {
      isOpen = open;
      listeners.notify();
    },
    watch: listeners.watch,
  };
}

/** The sheet of shortcuts. */
export const shortcutsOpen = createOpening();

/** The palette of commands. */
export const paletteOpen = createOpening();

export function useOpening({ watch, get }: Opening): boolean {
  return useSyncExternalStore(watch, get, () => false);
}

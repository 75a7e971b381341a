"use client";
import { useEffect, useSyncExternalStore } from "react";
import { commandOfPress } from "./tools/commands.ts";
import { ownKeys } from "./tools/own-keys.ts";
import { createListeners } from "../ui/listeners.ts";

let isHeld = false;
const listeners = createListeners();

/** Whether the original is looked at, for as long as a key or a button is held. */
export const heldOriginal = {
  set(next: boolean) {
    if (next === isHeld) return;
    isHeld = next;
    listeners.notify();
  },
};

/** True while the original is looked at. */
export function useHeldOriginal(): boolean {
  return useSyncExternalStore(
    listeners.watch,
    () => isHeld,
    () => false,
  );
}

const isText = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest("input:not([type=range]), textarea, select") !== null);

/** Holding the key of the command shows the original; a slider may have the focus. */
export function useOriginalKey(): void {
  useEffect(() => {
    const isKey = (event: KeyboardEvent) => commandOfPress(event, ownKeys.get()) === "original";
    // With Shift or AltGr let go before it, the same key writes another sign.
    let place = "";
    const down = (event: KeyboardEvent) => {
      if (!isKey(event) || isText(event.target)) return;
      place = event.code;
      heldOriginal.set(true);
    };
    const release = (event: Event) => {
      if (!(event instanceof KeyboardEvent) || event.code === place || isKey(event)) heldOriginal.set(false);
    };
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", release);
    // A key that is released in another window tells nothing.
    window.addEventListener("blur", release);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", release);
      window.removeEventListener("blur", release);
      heldOriginal.set(false);
    };
  }, []);
}

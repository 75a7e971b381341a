"use client";
import { useSyncExternalStore } from "react";
import { findSettings, type FoundSettings, readCarriedTexts } from "@atelier/server/carried";
import { createListeners } from "../ui/listeners.ts";

/** The settings that Create shows beside its form. */
interface Shown {
  readonly found: FoundSettings;
  /** A picture that was dropped, to be added to the gallery where the user wants it. */
  readonly dropped: File | null;
  /** What was closed stays until it has faded. */
  readonly isOpen: boolean;
}

let shown: Shown | null = null;
const listeners = createListeners();

function set(next: Shown | null): void {
  shown = next;
  listeners.notify();
}

/** Shows settings on Create; from another page they wait until it opens. */
export function showSettings(found: FoundSettings, dropped: File | null = null): void {
  set({ found, dropped, isOpen: true });
}

export function closeSettings(): void {
  if (shown !== null) set({ ...shown, isOpen: false });
}

export function useShownSettings(): Shown | null {
  return useSyncExternalStore(
    listeners.watch,
    () => shown,
    () => null,
  );
}

/** The settings that a picture carries; null without any. Throws where the browser cannot read the file. */
export async function settingsIn(file: File): Promise<FoundSettings | null> {
  return findSettings(await readCarriedTexts(file));
}

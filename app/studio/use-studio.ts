"use client";
import { useSyncExternalStore } from "react";
import { emptyStudio, studio, type StudioState } from "./studio-store.ts";

export function useStudio(): StudioState {
  return useSyncExternalStore(studio.watch, studio.get, () => emptyStudio);
}

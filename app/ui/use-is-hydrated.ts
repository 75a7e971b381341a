"use client";
import { useSyncExternalStore } from "react";

const never = () => () => undefined;

/** False while a page takes over the server's HTML, which must not differ from what was sent. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}

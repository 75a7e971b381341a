"use client";
import { useRouter } from "next/navigation";
import { useCallback, useEffect } from "react";
import { compareHref } from "./address.ts";

let isOpening = false;

/** Opens the page that compares these pictures, which then goes back to where it was opened. */
export function useOpenCompare(): (ids: readonly string[]) => void {
  const router = useRouter();
  return useCallback(
    (ids) => {
      isOpening = true;
      router.push(compareHref(ids));
    },
    [router],
  );
}

/** Notes with the entry of the history that the studio's own page is before it. */
export function useNoteOpened(): void {
  useEffect(() => {
    if (isOpening) window.history.replaceState({ isOpened: true }, "");
    isOpening = false;
  }, []);
}

/** Goes back to the gallery as it was left where it opened this page, else to its newest pictures. */
export function useLeave(): () => void {
  const router = useRouter();
  return useCallback(() => {
    if (window.history.state?.isOpened === true) window.history.back();
    else router.push("/gallery");
  }, [router]);
}

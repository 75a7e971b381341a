"use client";
import { useSearchParams } from "next/navigation";
import { useCallback } from "react";

/** Filters live in the address: they survive a reload and can be sent to somebody. */
export function useSearchFilter() {
  const params = useSearchParams();
  const set = useCallback((name: string, value: string | null) => {
    const next = new URLSearchParams(window.location.search);
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
    const query = next.toString();
    window.history.replaceState(null, "", query === "" ? window.location.pathname : `?${query}`);
  }, []);
  return { params, set };
}

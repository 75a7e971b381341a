"use client";
import { useEffect } from "react";

/** Goes to what the address names after its `#`: it comes later than the page, and may be folded away. */
export function useAddressTarget(): void {
  useEffect(() => {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (target === null) return;
    target.closest("details")?.setAttribute("open", "");
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }, []);
}

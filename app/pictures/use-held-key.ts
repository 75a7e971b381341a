"use client";
import { useEffect, useState } from "react";

const typing = "input, textarea, select, button, a, [contenteditable], [role=radio], [role=checkbox]";

/** Whether a key is held down while nothing that uses it itself has the focus. */
export function useHeldKey(key: string): boolean {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const press = (event: KeyboardEvent) => {
      if (event.key !== key || (event.target instanceof Element && event.target.closest(typing))) return;
      event.preventDefault();
      setHeld(true);
    };
    const release = (event: KeyboardEvent) => {
      if (event.key === key) setHeld(false);
    };
    window.addEventListener("keydown", press, { signal });
    window.addEventListener("keyup", release, { signal });
    window.addEventListener("blur", () => setHeld(false), { signal });
    return () => leaving.abort();
  }, [key]);
  return isHeld;
}

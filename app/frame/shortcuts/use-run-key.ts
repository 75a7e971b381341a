"use client";
import { useEffect } from "react";
import { isBehindDialog } from "./is-behind-dialog.ts";
import { isRunKey } from "./is-run-key.ts";

/** Ctrl+Enter or Cmd+Enter does the one thing of the page, also while typing. */
export function useRunKey(canStart: boolean, onRun: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isRunKey(event) || isBehindDialog()) return;
      event.preventDefault();
      if (canStart) onRun();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [canStart, onRun]);
}

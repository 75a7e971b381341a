"use client";
import { useEffect } from "react";
import { isTyping } from "../frame/shortcuts/is-typing.ts";
import type { EditorSession } from "./use-editor.ts";

/** `b`, `Shift+z`, `Control+z`: the same with caps lock; brackets need Shift on some keyboards, so it counts for letters alone. */
function nameOf(event: KeyboardEvent): string {
  const control = event.ctrlKey || event.metaKey ? "Control+" : "";
  const isLetter = /^[a-z]$/i.test(event.key);
  return `${control}${isLetter && event.shiftKey ? "Shift+" : ""}${event.key.toLowerCase()}`;
}

/** Keys of the tools; zooming and painting belong to the stage. */
export function useEditKeys({ setTool, growBrush, shrinkBrush, step }: EditorSession): void {
  useEffect(() => {
    const keys: Record<string, () => void> = {
      v: () => setTool("pan"),
      b: () => setTool("brush"),
      e: () => setTool("eraser"),
      "[": shrinkBrush,
      "]": growBrush,
      z: () => step({ type: "undo" }),
      "Shift+z": () => step({ type: "redo" }),
      "Control+z": () => step({ type: "undo" }),
      "Control+Shift+z": () => step({ type: "redo" }),
      "Control+y": () => step({ type: "redo" }),
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const act = keys[nameOf(event)];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [growBrush, setTool, shrinkBrush, step]);
}

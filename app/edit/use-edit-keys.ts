"use client";
import { useEffect } from "react";
import { isTyping } from "../frame/shortcuts/is-typing.ts";
import type { EditorSession } from "./use-editor.ts";

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
      Z: () => step({ type: "redo" }),
      "Control+z": () => step({ type: "undo" }),
      "Control+Z": () => step({ type: "redo" }),
      "Control+y": () => step({ type: "redo" }),
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const act = keys[`${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.key}`];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [growBrush, setTool, shrinkBrush, step]);
}

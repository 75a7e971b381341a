"use client";
import { useLayoutEffect } from "react";

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** A text after a key press; null for a press that writes nothing. */
export function afterPress(text: string, { key, ctrlKey, metaKey, altKey }: KeyPress): string | null {
  if (ctrlKey || metaKey || altKey) return null;
  const characters = Array.from(text);
  if (key === "Backspace") return characters.slice(0, -1).join("");
  return Array.from(key).length === 1 ? text + key : null;
}

interface Typed {
  readonly text: string;
  /** Enter came last: the first of what is found is wanted. */
  readonly isEntered: boolean;
}

const nothing: Typed = { text: "", isEntered: false };
let typed = nothing;

/** What was typed since the palette was opened and its line had no focus; nothing the second time. */
export function takeTyped(): Typed {
  const taken = typed;
  typed = nothing;
  return taken;
}

/** Gathers what is typed after the palette was asked for, until its line has the focus for the first time. */
export function useEarlyKeys(isOpen: boolean, onEscape: () => void): void {
  // In time for the very next key: a store that changed is shown at once.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    typed = nothing;
    const leaving = new AbortController();
    const options = { capture: true, signal: leaving.signal };
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape") onEscape();
      const { key, metaKey } = event;
      // AltGr, which writes characters, is Ctrl and Alt together on some systems.
      const isWriting = event.getModifierState("AltGraph");
      const plain = { ctrlKey: false, altKey: false };
      const text = afterPress(typed.text, isWriting ? { key, metaKey, ...plain } : event);
      // It would press the button below.
      const isEnter = key === "Enter";
      if (text === null && !isEnter) return;
      // Without a word it asks for nothing, as one that is held since it opened the palette.
      const isEntered = isEnter && !event.repeat && typed.text !== "";
      typed = { text: text ?? typed.text, isEntered };
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    const enter = ({ target }: FocusEvent) => {
      if (target instanceof Element && target.matches("[cmdk-input]")) leaving.abort();
    };
    window.addEventListener("keydown", press, options);
    window.addEventListener("focusin", enter, options);
    return () => leaving.abort();
  }, [isOpen, onEscape]);
}

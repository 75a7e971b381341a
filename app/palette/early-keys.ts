"use client";
import { useLayoutEffect } from "react";
import { paletteOpen } from "../parts/openings.ts";

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** A text after a key press; null for a press that writes nothing. */
function afterPress(text: string, { key, ctrlKey, metaKey, altKey }: KeyPress): string | null {
  if (ctrlKey || metaKey || altKey) return null;
  const characters = Array.from(text);
  if (key === "Backspace") return characters.slice(0, -1).join("");
  return Array.from(key).length === 1 ? text + key : null;
}

interface Typed {
  readonly text: string;
  /** Enter came last: the first of what is found is wanted. */
  readonly isEntered: boolean;
  /** Arrows after the text, and an Enter after them: for what is offered once the line has the focus. */
  readonly moves: readonly string[];
}

/** What was typed, after one more key; null for one that the palette has no use for. */
export function withKey(typed: Typed, press: KeyPress & Pick<KeyboardEvent, "repeat">): Typed | null {
  const { key, repeat } = press;
  const { text, moves } = typed;
  const isCommand = press.ctrlKey || press.metaKey || press.altKey;
  if (/^Arrow(?:Down|Up)$/.test(key) && !isCommand) return { text, isEntered: false, moves: [...moves, key] };
  if (key === "Enter" && moves.length > 0) return { ...typed, moves: repeat ? moves : [...moves, key] };
  // Without a word it asks for nothing, as one that is held since it opened the palette.
  if (key === "Enter") return { text, isEntered: !repeat && text !== "", moves };
  const next = afterPress(text, press);
  return next === null ? null : { text: next, isEntered: false, moves: [] };
}

let typed: Typed | null = null;

/** What was typed since the palette was opened and its line had no focus; null the second time. */
export function takeTyped(): Typed | null {
  const taken = typed;
  typed = null;
  return taken;
}

/**
 * Gathers what is typed after the palette was asked for, until its line has the focus for the first time. The store
 * itself says when: a page that is still being hydrated hears of a change of it some keys later.
 */
export function useEarlyKeys(onEscape: () => void): void {
  useLayoutEffect(() => {
    const leaving = new AbortController();
    const options = { capture: true, signal: leaving.signal };
    const unwatch = paletteOpen.watch(() => {
      typed = paletteOpen.get() ? { text: "", isEntered: false, moves: [] } : null;
    });
    const press = (event: KeyboardEvent) => {
      const isInLine = event.target instanceof Element && event.target.matches("[cmdk-input]");
      if (typed === null || isInLine) return;
      if (event.key === "Escape") return onEscape();
      const { key, metaKey, repeat } = event;
      // AltGr, which writes characters, is Ctrl and Alt together on some systems.
      const isWriting = event.getModifierState("AltGraph");
      const plain = { ctrlKey: false, altKey: false };
      const next = withKey(typed, isWriting ? { key, metaKey, repeat, ...plain } : event);
      if (next === null) return;
      // Enter would press the button below.
      typed = next;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    window.addEventListener("keydown", press, options);
    return () => {
      unwatch();
      leaving.abort();
    };
  }, [onEscape]);
}

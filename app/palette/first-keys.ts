type KeyPress = Pick<
  KeyboardEvent,
  "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "repeat"
>;

/** Ctrl+K or Cmd+K, on a keyboard with other letters the same key; a held key counts once. */
export function isPaletteKey(press: KeyPress): boolean {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey, repeat } = press;
  if (ctrlKey === metaKey || altKey || shiftKey || repeat) return false;
  const isLatin = /^[a-z]$/i.test(key);
  return isLatin ? key.toLowerCase() === "k" : code === "KeyK";
}

declare global {
  interface Window {
    /** Until the page's own code has taken them: Ctrl+K and what was typed after it. */
    takeFirstKeys?: () => readonly KeyboardEvent[];
  }
}

/** Its text is a part of each page, so that it names nothing of this file. */
function keepFirstKeys(isWanted: typeof isPaletteKey): void {
  const kept: KeyboardEvent[] = [];
  const keep = (event: KeyboardEvent) => {
    const isTyped =
      !event.ctrlKey && !event.metaKey && !event.altKey && /^(.|Backspace|Enter|Escape)$/u.test(event.key);
    if (!isWanted(event) && (kept.length === 0 || !isTyped)) return;
    // Otherwise a browser goes to its own search.
    event.preventDefault();
    event.stopImmediatePropagation();
    kept.push(event);
  };
  window.addEventListener("keydown", keep, { capture: true });
  window.takeFirstKeys = () => {
    window.removeEventListener("keydown", keep, { capture: true });
    return kept.splice(0);
  };
}

/** Keeps the keys for the palette that are pressed before the code of the page listens. */
export const firstKeysScript = `(${keepFirstKeys.toString()})(${isPaletteKey.toString()})`;

/** Presses the kept keys once more, now that the page listens. */
export function repeatFirstKeys(): void {
  for (const press of window.takeFirstKeys?.() ?? [])
    window.dispatchEvent(new KeyboardEvent("keydown", press));
}

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
  const longestMs = 10_000;
  let kept: KeyboardEvent[] = [];
  let forgetting: ReturnType<typeof setTimeout> | undefined;
  const forget = () => {
    clearTimeout(forgetting);
    kept = [];
  };
  const keep = (event: KeyboardEvent) => {
    const asks = isWanted(event);
    const isCommand =
      event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState("AltGraph"));
    const isTyped = !isCommand && /^(.|Backspace|Enter|ArrowDown|ArrowUp)$/u.test(event.key);
    if (event.key === "Escape") forget();
    if (!asks && (kept.length === 0 || !isTyped)) return;
    // Otherwise a browser goes to its own search.
    event.preventDefault();
    event.stopImmediatePropagation();
    const closes = asks && kept.length > 0;
    if (closes) return forget();
    kept.push(event);
    // A page whose code does not come gets its keys back.
    if (asks) forgetting = setTimeout(forget, longestMs);
  };
  window.addEventListener("keydown", keep, { capture: true });
  window.addEventListener("pointerdown", forget, { capture: true });
  window.takeFirstKeys = () => {
    const taken = kept;
    forget();
    window.removeEventListener("keydown", keep, { capture: true });
    window.removeEventListener("pointerdown", forget, { capture: true });
    return taken;
  };
}

/** Keeps the keys for the palette that are pressed before the code of the page listens. A function, so that no page loads it as code. */
export const firstKeysScript = () => `(${keepFirstKeys.toString()})(${isPaletteKey.toString()})`;

/** Presses the kept keys once more, now that the page listens; without the palette they are for nothing. */
export function repeatFirstKeys(isOpen: () => boolean): void {
  for (const [at, press] of (window.takeFirstKeys?.() ?? []).entries()) {
    if (at > 0 && !isOpen()) return;
    const { key, code, ctrlKey, metaKey, altKey, shiftKey } = press;
    const modifierAltGraph = press.getModifierState("AltGraph");
    const again = { key, code, ctrlKey, metaKey, altKey, shiftKey, modifierAltGraph, cancelable: true };
    window.dispatchEvent(new KeyboardEvent("keydown", again));
  }
}

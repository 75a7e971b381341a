/** What is read of a key press; one that is made up may lack where the key lies, and whether it is held. */
export type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey"> &
  Partial<Pick<KeyboardEvent, "code" | "repeat" | "getModifierState">>;

/** AltGr is down, which Windows reports as Ctrl and Alt together; Firefox on a Mac reports it with Option. */
export const hasAltGraph = (press: KeyPress): boolean => press.getModifierState?.("AltGraph") === true;

/** Whether it is a command of the browser or one with Ctrl, Cmd or Alt, as Alt+ArrowLeft goes back a page. */
export const isCombined = ({ ctrlKey, metaKey, altKey }: KeyPress): boolean => ctrlKey || metaKey || altKey;

const signs: Readonly<Record<string, string>> = { BracketLeft: "[", BracketRight: "]", Backslash: "\\" };

/** A letter, a vowel sign or a digit of another script. What several scripts share, as µ and accents, is of none. */
const ofOtherScript = /^(?![\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}])[\p{L}\p{M}\p{Nd}]/u;

/** Where a keyboard writes another script: what a Latin one has on that key. */
function latinOf(key: string, code: string): string {
  if (!ofOtherScript.test(key)) return key;
  return /^(?:Key|Digit|Numpad)([A-Z\d])$/.exec(code)?.[1] ?? signs[code] ?? key;
}

/** Keyboards of Apple have one key for this, named delete. */
const isApple = () => /^(?:Mac|iP)/.test(navigator.platform);

/**
 * The key of a shortcut, whatever the keyboard writes: a Latin letter is small without Shift, also with Caps Lock. For commands
 * only; what is typed into a field is `key` itself.
 */
export function keyOf(press: KeyPress): string {
  const { key, code = "", shiftKey } = press;
  if (key === "Delete" || (key === "Backspace" && isApple())) return "Delete";
  const latin = hasAltGraph(press) ? key : latinOf(key, code);
  if (!/^[a-z]$/i.test(latin)) return latin;
  return shiftKey ? latin.toUpperCase() : latin.toLowerCase();
}

/**
 * `keyOf` for commands that a held key gives once: "" for its repeats, which would star and unstar a picture by turns, or delete the
 * next one. Arrows go on, and so does what is held with Ctrl, so that the browser never gets it.
 */
export function keyOnce(press: KeyPress): string {
  const key = keyOf(press);
  return press.repeat && !key.startsWith("Arrow") && !isCombined(press) ? "" : key;
}

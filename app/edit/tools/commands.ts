import { hasAltGraph, keyOf, type KeyPress } from "../../ui/key-press.ts";

/**
 * What keys do in the editor, with the keys that a user finds. From this list come the shortcuts themselves, the sheet that
 * "?" opens, and the names on buttons. Keys are in the notation of `aria-keyshortcuts`, several parted by spaces.
 */
const editCommands = {
  pan: "v",
  brush: "b",
  eraser: "e",
  lasso: "l",
  shape: "m",
  select: "w",
  subject: "s",
  words: "t",
  crop: "c",
  restore: "r",
  smaller: "[",
  larger: "]",
  softer: "Shift+[",
  harder: "Shift+]",
  swap: "x",
  invert: "i",
  all: "Control+A",
  none: "Control+D",
  undo: "Control+Z z",
  redo: "Shift+Control+Z Control+Y Shift+Z",
  original: "\\",
  actualSize: "1",
  fit: "0",
  zoomIn: "+ =",
  zoomOut: "-",
} as const;

export type CommandId = keyof typeof editCommands;

// Safe cast: the keys of a record of commands.
export const commandIds = Object.keys(editCommands) as CommandId[];

/** On most keyboards Shift makes these of brackets. */
const unshifted: Readonly<Record<string, string>> = { "{": "[", "}": "]" };

const ownKeys = /^(?:[^\s]|F[1-9]|F1[0-2])$/;

const isLetter = (key: string) => key.length === 1 && key.toLowerCase() !== key.toUpperCase();

/** Many keyboards write brackets and the like with AltGr; those of Apple with Option, which is Alt. */
function writesSign(press: KeyPress): boolean {
  const { key, ctrlKey, metaKey, altKey } = press;
  return /^[!-/:-@[-`{-~]$/.test(key) && !metaKey && (hasAltGraph(press) || (altKey && !ctrlKey));
}

const holdsControl = (press: KeyPress) => (press.ctrlKey || press.metaKey) && !writesSign(press);

/** The name of a key press; null for keys that no command can have, such as arrows, Enter and Tab. */
export const keyName = (press: KeyPress): string | null => nameOf(press, keyOf(press));

function nameOf(press: KeyPress, key: string): string | null {
  const isWritten = writesSign(press);
  if ((press.altKey && !isWritten) || !ownKeys.test(key)) return null;
  const plain = unshifted[key] ?? key;
  const isShifted = isWritten ? plain !== key : press.shiftKey;
  // Some keyboards need Shift for other signs: there it says nothing.
  const held = [
    ...(isShifted && (isLetter(plain) || "[]".includes(plain)) ? ["Shift"] : []),
    ...(holdsControl(press) ? ["Control"] : []),
  ];
  if (!isLetter(plain)) return [...held, plain].join("+");
  return [...held, held.length === 0 ? plain.toLowerCase() : plain.toUpperCase()].join("+");
}

/** Keys that a user chose; a command that is missing has those of the list, one with "" has none. */
export type OwnKeys = Readonly<Partial<Record<CommandId, string>>>;

export function keysOf(id: CommandId, own: OwnKeys): readonly string[] {
  return (own[id] ?? editCommands[id]).split(" ").filter((key) => key !== "");
}

export function commandOf(key: string, own: OwnKeys): CommandId | null {
  return commandIds.find((id) => keysOf(id, own).includes(key)) ?? null;
}

/** The command of a key press. A key that the user chose on another keyboard counts before the one of the list. */
export function commandOfPress(press: KeyPress, own: OwnKeys): CommandId | null {
  const [written, plain] = [nameOf(press, press.key), keyName(press)];
  const chosen = written === null ? null : commandOf(written, own);
  return chosen ?? (plain === null ? null : commandOf(plain, own));
}

/** What a held key does again and again; others are done once, or `swap` would end as it began. */
const goesOn = /^(?:smaller|larger|softer|harder|undo|redo|zoom)/;

/** Whether a press of the command's key is to do something: a repeat of a held key is not always. */
export const isDone = (id: CommandId, { repeat }: KeyPress): boolean => !repeat || goesOn.test(id);

/** The keys after a command was given another one; the command that had it loses it. */
export function withKey(own: OwnKeys, id: CommandId, key: string): OwnKeys {
  const holder = commandOf(key, own);
  const rest =
    holder === null || holder === id
      ? own
      : {
          ...own,
          [holder]: keysOf(holder, own)
            .filter((each) => each !== key)
            .join(" "),
        };
  return { ...rest, [id]: key };
}

/** Reads what was stored; null and what is no command or no key are left out. */
export function parseOwnKeys(text: string | null): OwnKeys {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? "{}");
  } catch {
    return {};
  }
  if (typeof stored !== "object" || stored === null) return {};
  const entries = Object.entries(stored).filter(
    ([id, keys]) => Object.hasOwn(editCommands, id) && typeof keys === "string" && keys.length < 40,
  );
  return Object.fromEntries(entries);
}

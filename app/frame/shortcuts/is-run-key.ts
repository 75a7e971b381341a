type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "repeat">;

/** Ctrl+Enter or Cmd+Enter, pressed anew; a key that is held down asks once. */
export function isRunKey({ key, ctrlKey, metaKey, repeat }: KeyPress): boolean {
  return key === "Enter" && (ctrlKey || metaKey) && !repeat;
}

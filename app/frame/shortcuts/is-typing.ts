import { isBehindDialog } from "./is-behind-dialog.ts";

/** Whether keys belong to a text field or an open dialog rather than to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  if (isBehindDialog()) return true;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, [role=menu]") !== null;
}

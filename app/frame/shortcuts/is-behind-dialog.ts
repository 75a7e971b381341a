/** A toast is a dialog too, but not modal; one that closes is done with; the viewer is a page of its own. */
const modalDialogs = ["dialog", "alertdialog"]
  .map((role) => `[role=${role}]:not([aria-modal=false], [data-closed], [data-viewer])`)
  .join(", ");

/** Whether a modal dialog stands before the page, whose keys then rest. */
export function isBehindDialog(): boolean {
  return document.querySelector(modalDialogs) !== null;
}

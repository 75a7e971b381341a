"use client";
import { type ReactNode, useLayoutEffect } from "react";
import { Button, Kbd, Spinner } from "../ui/button.tsx";

/** Selector of open modal dialogs. Left out: toasts (not modal), dialogs that are closing, and the viewer, which is like a page. */
const modalDialogs = ["dialog", "alertdialog"]
  .map((role) => `[role=${role}]:not([aria-modal=false], [data-closed], [data-viewer])`)
  .join(", ");

/** Whether a modal dialog covers the page and disables its shortcuts. */
export function isBehindDialog(): boolean {
  return document.querySelector(modalDialogs) !== null;
}

/** Key presses that came while a dialog was open: when the page hears one, that very press may have closed the dialog. */
const ofDialogs = new WeakSet<Event>();

if (typeof window !== "undefined")
  window.addEventListener("keydown", (event) => void (isBehindDialog() && ofDialogs.add(event)), {
    capture: true,
  });

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "repeat">;

/** Ctrl+Enter or Cmd+Enter; a held key counts once. */
export function isRunKey({ key, ctrlKey, metaKey, repeat }: KeyPress): boolean {
  return key === "Enter" && (ctrlKey || metaKey) && !repeat;
}

/** What a slider does itself. */
const ofSliders = /^(?:Arrow|Home|End|Page)/;

/** Whether keys belong to a text field, a slider or an open dialog rather than to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  if (ofDialogs.has(event)) return true;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  const isSlider = target.matches("input[type=range]");
  if (isSlider) return ofSliders.test(event.key);
  return target.isContentEditable || target.closest("input, textarea, select, [role=menu]") !== null;
}

/** Ctrl+Enter or Cmd+Enter runs the primary action, also while typing. */
function useRunKey(canStart: boolean, onRun: () => void): void {
  // As soon as the button is seen to be ready.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isRunKey(event) || ofDialogs.has(event)) return;
      event.preventDefault();
      if (canStart) onRun();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [canStart, onRun]);
}

interface Props {
  readonly canRun: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}

/** The primary action of a page, by a click or by Ctrl+Enter. */
export function RunButton({ canRun, isBusy, onRun, className, children }: Props) {
  const canStart = canRun && !isBusy;
  useRunKey(canStart, onRun);
  return (
    <Button
      look="primary"
      size="large"
      disabled={!canStart}
      onClick={onRun}
      aria-keyshortcuts="Control+Enter"
      className={className}
    >
      {isBusy ? <Spinner /> : null}
      {children}
      {isBusy ? null : (
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="Control+Enter" ground="button" />
        </span>
      )}
    </Button>
  );
}

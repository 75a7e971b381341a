"use client";
import { useSyncExternalStore } from "react";
import { later } from "./later.tsx";
import { createListeners } from "./listeners.ts";

/** One toast as it is asked for. */
interface Toast {
  readonly id: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly type?: "fail";
  readonly priority?: "high";
  readonly timeout?: number;
  readonly onClose?: (() => void) | undefined;
  readonly actionProps?: { readonly children: string; readonly onClick: () => void };
}

export interface ToastManager {
  readonly add: (toast: Toast) => unknown;
  readonly close: (id: string) => void;
}

let manager: ToastManager | null = null;
/** Asked for before the list was loaded. */
let waiting: readonly Toast[] = [];
const listeners = createListeners();
let made = 0;

function setWaiting(next: readonly Toast[]): void {
  waiting = next;
  listeners.notify();
}

/** The list is on the page: it gets what waits for it. */
export function connectToasts(list: ToastManager): () => void {
  manager = list;
  for (const toast of waiting) list.add(toast);
  setWaiting([]);
  return () => {
    manager = null;
  };
}

/** Shows a toast; also usable outside React. Returns its id. */
function show(toast: Omit<Toast, "id">): string {
  made += 1;
  const whole = { ...toast, id: `toast-${made}` };
  if (manager === null) setWaiting([...waiting, whole]);
  else manager.add(whole);
  return whole.id;
}

interface ActionToast {
  readonly title: string;
  readonly text?: string | undefined;
  readonly label: string;
  readonly onAction: () => void;
  /** It has gone, also after the action. */
  readonly onClose?: (() => void) | undefined;
}

interface UndoableToast {
  readonly title: string;
  readonly text?: string | undefined;
  readonly undoLabel: string;
  readonly onUndo: () => void;
  /** It has gone, also after Undo. */
  readonly onClose?: () => void;
}

/** Says something and offers what one can do about it for eight seconds. */
export function toastWithAction({ title, text, label, onAction, onClose }: ActionToast): void {
  const id = show({
    title,
    description: text,
    timeout: 8_000,
    onClose,
    actionProps: {
      children: label,
      onClick: () => {
        onAction();
        manager?.close(id);
      },
    },
  });
}

/** Reports an action and offers Undo. */
export function toastWithUndo({ undoLabel, onUndo, ...toast }: UndoableToast): void {
  toastWithAction({ ...toast, label: undoLabel, onAction: onUndo });
}

export function toastFailure(title: string, description?: string): void {
  show({ title, description, type: "fail", priority: "high", timeout: 8_000 });
}

const shownOnce = new Set<string>();

/** The same, unless a toast with this title is on the page. */
export function toastFailureOnce(title: string, description?: string): void {
  if (shownOnce.has(title)) return;
  shownOnce.add(title);
  const onClose = () => void shownOnce.delete(title);
  show({ title, description, type: "fail", priority: "high", timeout: 8_000, onClose });
}

export function toastDone(title: string): void {
  show({ title });
}

const ToastList = later(async () => (await import("./toast-list.tsx")).ToastList);
const noProps = {};

/** They cannot be shown: what waits for the end of one goes on. */
function onFailure(): void {
  const lost = waiting;
  setWaiting([]);
  for (const { onClose } of lost) onClose?.();
}

/** Renders the toasts: at the bottom in the middle; on a phone above the tab bar. */
export function Toaster() {
  const isWanted = useSyncExternalStore(
    listeners.watch,
    () => waiting.length > 0,
    () => false,
  );
  return <ToastList isWanted={isWanted} onFailure={onFailure} props={noProps} />;
}

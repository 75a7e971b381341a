"use client";
import { Toast } from "@base-ui/react/toast";
import { CircleAlert, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { buttonStyle } from "./button.tsx";

/** The only manager of toasts; also usable outside React. */
export const toasts = Toast.createToastManager();

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
  const id = toasts.add({
    title,
    description: text,
    timeout: 8_000,
    onClose,
    actionProps: {
      children: label,
      onClick: () => {
        onAction();
        toasts.close(id);
      },
    },
  });
}

/** Reports an action and offers Undo. */
export function toastWithUndo({ undoLabel, onUndo, ...toast }: UndoableToast): void {
  toastWithAction({ ...toast, label: undoLabel, onAction: onUndo });
}

export function toastFailure(title: string, description?: string): void {
  toasts.add({ title, description, type: "fail", priority: "high", timeout: 8_000 });
}

export function toastDone(title: string): void {
  toasts.add({ title });
}

function ToastList() {
  const t = useTranslations("common");
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="stage flex min-h-12 w-full items-center gap-3 rounded-card bg-raised! py-2 pe-2 ps-4 shadow-float transition duration-180 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-limited:hidden data-starting-style:translate-y-2 data-starting-style:opacity-0"
    >
      {toast.type === "fail" ? <CircleAlert className="size-4 shrink-0 text-fail" aria-hidden /> : null}
      <Toast.Content className="min-w-0 flex-1 py-1">
        <Toast.Title className="text-sm font-medium" render={<p />} />
        <Toast.Description className="text-xs text-quiet" />
      </Toast.Content>
      <Toast.Action className={buttonStyle("quiet", "small")} />
      <Toast.Close
        aria-label={t("dismiss")}
        className="inline-flex size-8 items-center justify-center rounded-control text-quiet hover:bg-hover hover:text-ink"
      >
        <X className="size-4" aria-hidden />
      </Toast.Close>
    </Toast.Root>
  ));
}

/** Renders the toasts: at the bottom in the middle; on a phone above the tab bar. */
export function Toaster() {
  const t = useTranslations("common");
  return (
    <Toast.Portal>
      {/* The library's own name is the one of a section of the settings. */}
      <Toast.Viewport
        aria-label={t("messages")}
        className="fixed bottom-[calc(var(--tabs)+24px)] left-1/2 z-70 flex w-[min(440px,calc(100vw-32px))] -translate-x-1/2 flex-col gap-2 outline-none max-wide:in-[:root:has([data-run-bar])]:bottom-[calc(var(--tabs)+108px)] wide:bottom-6"
      >
        <ToastList />
      </Toast.Viewport>
    </Toast.Portal>
  );
}

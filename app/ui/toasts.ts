import { Toast } from "@base-ui/react/toast";

/** The one manager of toasts, also for code outside React. */
export const toasts = Toast.createToastManager();

interface UndoableToast {
  readonly title: string;
  readonly undoLabel: string;
  readonly onUndo: () => void;
}

/** Says what was done and offers to take it back for eight seconds. */
export function toastWithUndo({ title, undoLabel, onUndo }: UndoableToast): void {
  const id = toasts.add({
    title,
    timeout: 8_000,
    actionProps: {
      children: undoLabel,
      onClick: () => {
        toasts.close(id);
        onUndo();
      },
    },
  });
}

export function toastFailure(title: string, description?: string): void {
  toasts.add({ title, description, type: "fail", priority: "high", timeout: 8_000 });
}

export function toastDone(title: string): void {
  toasts.add({ title });
}

"use client";
import { Button } from "./button.tsx";
import { Dialog, type DialogProps } from "./overlays.tsx";

interface ConfirmationProps extends DialogProps {
  /** Labels of the two buttons. */
  readonly keep: string;
  readonly confirm: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
}

/** Asks before something that cannot be taken back. */
export function Confirmation({ keep, confirm, isBusy, onConfirm, children, ...dialog }: ConfirmationProps) {
  return (
    <Dialog {...dialog}>
      <div className="text-sm text-quiet">{children}</div>
      <div className="mt-6 flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={() => dialog.onOpenChange(false)}>
          {keep}
        </Button>
        <Button look="danger" disabled={isBusy} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}

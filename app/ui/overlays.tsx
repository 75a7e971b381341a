"use client";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactElement, type ReactNode, useRef } from "react";
import { Button, cx, IconButton } from "./button.tsx";

interface MenuProps {
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
}

export function Menu({ trigger, children, side = "bottom", align = "start" }: MenuProps) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner side={side} align={align} sideOffset={6} className="z-60">
          <BaseMenu.Popup className="min-w-48 rounded-card bg-raised p-1 shadow-float outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

interface ItemProps {
  readonly onSelect: () => void;
  readonly disabled?: boolean;
  readonly checked?: boolean;
  readonly children: ReactNode;
}

export function MenuItem({ onSelect, disabled, checked, children }: ItemProps) {
  return (
    <BaseMenu.Item
      onClick={onSelect}
      disabled={disabled}
      className={cx(
        "flex min-h-9 cursor-pointer py-1.5 items-center gap-2.5 rounded-control px-2.5 text-sm outline-none select-none data-disabled:cursor-default data-disabled:opacity-45 data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:text-quiet",
        checked && "font-medium",
      )}
    >
      {children}
    </BaseMenu.Item>
  );
}

interface Props {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly children: ReactNode;
}

/** A modal dialog in the middle of the screen; on a phone at the bottom. */
export function Dialog({ open, onOpenChange, title, children }: Props) {
  const t = useTranslations("common");
  const popup = useRef<HTMLDivElement>(null);
  return (
    <BaseDialog.Root open={open} onOpenChange={onOpenChange}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="fixed inset-0 z-50 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <BaseDialog.Popup
          ref={popup}
          initialFocus={popup}
          className="fixed inset-x-0 bottom-0 z-50 mx-auto max-h-[85dvh] w-full max-w-[560px] overflow-auto rounded-t-card bg-raised p-6 shadow-float outline-none transition duration-150 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0 sm:inset-y-0 sm:my-auto sm:h-fit sm:rounded-card"
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <BaseDialog.Title className="font-serif text-lg">{title}</BaseDialog.Title>
            <BaseDialog.Close render={<IconButton label={t("close")} className="-mt-1 -me-2" />}>
              <X aria-hidden />
            </BaseDialog.Close>
          </div>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

interface ConfirmationProps extends Props {
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

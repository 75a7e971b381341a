"use client";
import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef } from "react";
import { IconButton } from "./button.tsx";
import type { DialogProps } from "./overlays.tsx";

/** What `Dialog` shows once it is loaded. */
export function DialogBox({ open, onOpenChange, title, children }: DialogProps) {
  const t = useTranslations("common");
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Popup
          ref={popup}
          initialFocus={popup}
          className="fixed inset-x-0 bottom-0 z-50 mx-auto max-h-[85dvh] w-full max-w-[560px] overflow-auto rounded-t-card bg-raised p-6 shadow-float outline-none transition duration-150 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0 sm:inset-y-0 sm:my-auto sm:h-fit sm:rounded-card"
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <Dialog.Title className="font-serif text-lg">{title}</Dialog.Title>
            <Dialog.Close render={<IconButton label={t("close")} className="-mt-1 -me-2" />}>
              <X aria-hidden />
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

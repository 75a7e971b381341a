"use client";
import { Dialog } from "@base-ui/react/dialog";
import { Maximize2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import { cx, IconButton } from "../ui/button.tsx";
import { Chat } from "./chat.tsx";

const iconLink =
  "inline-flex size-9 shrink-0 items-center justify-center rounded-control text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink [&_svg]:size-[18px]";

interface Props {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

/** What `AssistantSheet` opens once it is loaded. */
export function SheetBox({ isOpen, onOpenChange }: Props) {
  const t = useTranslations("assistant");
  const common = useTranslations("common");
  const [conversationId, setConversationId] = useState<string | null>(null);
  const address = conversationId === null ? "/assistant" : `/assistant?c=${conversationId}`;
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Popup className="fixed inset-y-0 inset-e-0 z-50 flex w-full max-w-[480px] flex-col bg-paper shadow-float outline-none transition duration-150 data-ending-style:translate-x-4 data-ending-style:opacity-0 data-starting-style:translate-x-4 data-starting-style:opacity-0">
          <div className="flex items-center justify-between gap-2 border-b border-line py-3 pe-3 ps-5">
            <Dialog.Title className="font-serif text-lg">{t("sheetTitle")}</Dialog.Title>
            <div className="flex items-center gap-1">
              <Link href={address} aria-label={t("wholePage")} className={cx(iconLink)}>
                <Maximize2 aria-hidden />
              </Link>
              <Dialog.Close render={<IconButton label={common("close")} />}>
                <X aria-hidden />
              </Dialog.Close>
            </div>
          </div>
          <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-5 pt-5">
            <Chat
              conversationId={conversationId}
              reach={null}
              onConversation={setConversationId}
              isInSheet
              className="flex-1"
            />
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

"use client";
import { MessageCircle } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { Button } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";

const SheetBox = later(async () => (await import("./sheet-box.tsx")).SheetBox);

/** The assistant beside another page: a button that opens a conversation at the right, on a phone over the whole screen. */
export function AssistantSheet() {
  const t = useTranslations("assistant");
  const showFailure = useFailureToast();
  const [isOpen, setOpen] = useState(false);
  const onFailure = (error: unknown) => {
    setOpen(false);
    showFailure(error);
  };
  return (
    <>
      <Button
        size="small"
        look="quiet"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <MessageCircle aria-hidden />
        {t("openSheet")}
      </Button>
      <SheetBox isWanted={isOpen} onFailure={onFailure} props={{ isOpen, onOpenChange: setOpen }} />
    </>
  );
}

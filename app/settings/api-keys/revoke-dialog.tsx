"use client";
import { useTranslations } from "next-intl";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/overlays.tsx";

interface Props {
  readonly name: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly onConfirm: () => void;
}

/** Asks before a key stops to work, which cannot be undone. */
export function RevokeDialog({ name, isOpen, onOpenChange, onConfirm }: Props) {
  const t = useTranslations("apiKeys");
  return (
    <Dialog open={isOpen} onOpenChange={onOpenChange} title={t("revokeQuestion", { name })}>
      <p className="text-sm text-quiet">{t("revokeText")}</p>
      <div className="mt-6 flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={() => onOpenChange(false)}>
          {t("revokeCancel")}
        </Button>
        <Button look="danger" onClick={onConfirm}>
          {t("revokeConfirm")}
        </Button>
      </div>
    </Dialog>
  );
}

"use client";
import { Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "../../ui/button.tsx";
import { toastDone, toastFailure } from "../../ui/toasts.ts";

interface Props {
  readonly value: string;
  readonly onDone: () => void;
}

/** A fresh key, shown this once. */
export function NewKey({ value, onDone }: Props) {
  const t = useTranslations("apiKeys");
  const copy = () =>
    void navigator.clipboard.writeText(value).then(
      () => toastDone(t("copied")),
      () => toastFailure(t("copyFailed")),
    );
  return (
    <div role="status" className="flex flex-col gap-3 rounded-card border border-edge/60 bg-well p-4">
      <p className="text-xs font-medium">{t("shownOnce")}</p>
      <code className="rounded-control border border-line bg-surface px-3 py-2 text-xs break-all select-all">
        {value}
      </code>
      <div className="flex gap-2">
        <Button size="small" onClick={copy}>
          <Copy aria-hidden />
          {t("copy")}
        </Button>
        <Button size="small" look="quiet" onClick={onDone}>
          {t("done")}
        </Button>
      </div>
    </div>
  );
}

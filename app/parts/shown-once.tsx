"use client";
import { Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef } from "react";
import { Button } from "../ui/button.tsx";
import { toastDone, toastFailure } from "../ui/toasts.tsx";

interface ShownOnceProps {
  /** Says what it is, and that it is shown this once. */
  readonly text: string;
  readonly value: string;
  readonly onDone: () => void;
}

/** A new secret, which the server shows only once. */
export function ShownOnce({ text, value, onDone }: ShownOnceProps) {
  const t = useTranslations("shownOnce");
  const shown = useRef<HTMLElement>(null);
  const selectIt = () => {
    if (shown.current !== null) window.getSelection()?.selectAllChildren(shown.current);
    toastFailure(t("refused"));
  };
  const copy = () => {
    // Missing outside secure contexts, as over plain http on a LAN address.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    if (clipboard === undefined) return selectIt();
    clipboard.writeText(value).then(() => toastDone(t("copied")), selectIt);
  };
  return (
    <div
      role="status"
      className="flex flex-col gap-3 self-stretch rounded-card border border-edge/60 bg-well p-4"
    >
      <p className="text-xs font-medium">{text}</p>
      <code
        ref={shown}
        className="rounded-control border border-line bg-surface px-3 py-2 text-xs break-all select-all"
      >
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

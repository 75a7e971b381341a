"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { toastDone, toastFailure } from "./toasts.tsx";

/** Copies a text to the clipboard and confirms it. */
export function useCopy(): (text: string) => void {
  const t = useTranslations("common");
  return useCallback(
    (text) => {
      // Missing outside secure contexts, as over plain http on a LAN address.
      const clipboard: Clipboard | undefined = navigator.clipboard;
      const refuse = () => toastFailure(t("copyRefused"));
      if (clipboard === undefined) refuse();
      else clipboard.writeText(text).then(() => toastDone(t("copied")), refuse);
    },
    [t],
  );
}

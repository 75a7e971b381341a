"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { toastFailure } from "../ui/toasts.ts";

async function readClipboard(): Promise<File | null> {
  const items = await navigator.clipboard.read();
  for (const item of items) {
    const type = item.types.find((name) => name.startsWith("image/"));
    if (type !== undefined) return new File([await item.getType(type)], "pasted.png", { type });
  }
  return null;
}

/** Pastes by a button, for those without Ctrl+V at hand. */
export function usePasteButton(onFiles: (files: File[]) => void): () => void {
  const t = useTranslations("studio");
  return useCallback(() => {
    readClipboard().then(
      (file) => (file === null ? toastFailure(t("pasteNothing")) : onFiles([file])),
      () => toastFailure(t("pasteRefused"), t("pasteRefusedText")),
    );
  }, [onFiles, t]);
}

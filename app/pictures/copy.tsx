"use client";
import { Clipboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { downloadUrl } from "../client/urls.ts";
import { failureOfAnswer, useFailureToast } from "../ui/failures.ts";
import { MenuItem } from "../ui/overlays.tsx";
import { toastDone, toastFailure } from "../ui/toasts.tsx";

/** A large picture is made a PNG first. */
const readMs = 60_000;

/** Throws the failure that the server tells. */
async function readPng(id: string): Promise<Blob> {
  const answer = await fetch(`${downloadUrl(id)}&format=png`, { signal: AbortSignal.timeout(readMs) });
  if (!answer.ok) throw failureOfAnswer(answer.status, await answer.json().catch(() => null));
  return answer.blob();
}

/** Puts a picture on the clipboard; false where the browser cannot, as on a page without HTTPS. */
export async function copyPicture(id: string): Promise<boolean> {
  if (typeof ClipboardItem === "undefined" || typeof navigator.clipboard?.write !== "function") return false;
  const png = readPng(id);
  try {
    // The promise and not the picture: Safari takes nothing that comes later than the click.
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  } catch {
    // Throws the reason if the picture could not be read; otherwise the browser refused.
    await png;
    return false;
  }
  return true;
}

export function useCopyPicture(): (id: string) => void {
  const t = useTranslations("pictures");
  const showFailure = useFailureToast();
  return useCallback(
    (id) => {
      const say = (isCopied: boolean) =>
        isCopied ? toastDone(t("copied")) : toastFailure(t("notCopied"), t("notCopiedWhy"));
      copyPicture(id).then(say, showFailure);
    },
    [showFailure, t],
  );
}

/** Ctrl+C or Cmd+C, unless it is for text that is selected. */
export const isCopyKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === "c" &&
  (ctrlKey || metaKey) &&
  !altKey &&
  !shiftKey &&
  !window.getSelection()?.toString();

/** The entry of a menu; null for several pictures, of which a clipboard has one. */
export function CopyItem({ imageId }: { readonly imageId: string | null }) {
  const t = useTranslations("pictures");
  const copy = useCopyPicture();
  return (
    <MenuItem disabled={imageId === null} onSelect={() => imageId !== null && copy(imageId)}>
      <Clipboard aria-hidden />
      {t("copyPicture")}
    </MenuItem>
  );
}

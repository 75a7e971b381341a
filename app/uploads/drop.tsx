"use client";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { currentTarget, useFileTarget } from "./file-target.ts";
import { carriesFiles, filesOf } from "./take-files.ts";
import { useUploadBatch } from "./use-upload-batch.ts";

function give(files: File[]): void {
  if (files.length > 0) currentTarget()?.(files);
}

/** Listens on the whole page; a drop zone that takes a file itself marks the event as handled. */
function usePageFiles(setOver: (over: boolean) => void): void {
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const over = (event: DragEvent) => {
      if (!carriesFiles(event.dataTransfer)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented || !carriesFiles(event.dataTransfer)) return;
      event.preventDefault();
      give(filesOf(event.dataTransfer));
    };
    const paste = (event: ClipboardEvent) => {
      if (!event.defaultPrevented) give(filesOf(event.clipboardData));
    };
    window.addEventListener("dragover", over, { signal });
    window.addEventListener("dragleave", leave, { signal });
    window.addEventListener("drop", drop, { signal });
    window.addEventListener("paste", paste, { signal });
    return () => leaving.abort();
  }, [setOver]);
}

/** The whole page takes dropped and pasted pictures. */
export function PageDrop() {
  const t = useTranslations("uploads");
  const [isOver, setOver] = useState(false);
  usePageFiles(setOver);
  useFileTarget(useUploadBatch());
  if (!isOver) return null;
  return (
    <div
      aria-hidden
      className="pointer-events-none fixed inset-2 z-60 flex items-end justify-center rounded-card border-2 border-dashed border-ink/60 pb-10"
    >
      <p className="rounded-full bg-ink px-4 py-2 text-sm font-medium text-paper">{t("dropHere")}</p>
    </div>
  );
}

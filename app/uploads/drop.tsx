"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useState } from "react";
import { toastFailure } from "../ui/toasts.tsx";
import { acceptedTypes, addUpload, dropUpload, maxUploadsAtOnce } from "./store.ts";

type Take = (files: File[]) => void;

const targets: Take[] = [];

/** Receiver of files that are dropped or pasted: the one that registered last. */
function currentTarget(): Take | undefined {
  return targets.at(-1);
}

export function useFileTarget(take: Take): void {
  useEffect(() => {
    targets.push(take);
    return () => {
      targets.splice(targets.lastIndexOf(take), 1);
    };
  }, [take]);
}

/** Picture files from a drop or the clipboard; a screenshot on the clipboard has no name of its own. */
export function filesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

export function carriesFiles(data: DataTransfer | null): boolean {
  return data?.types.includes("Files") ?? false;
}

interface PickerOptions {
  readonly multiple?: boolean;
  readonly camera?: boolean;
}

/** Returns a function that opens the file dialog; on a phone it also offers the camera. */
export function useFilePicker(onFiles: (files: File[]) => void) {
  return useCallback(
    ({ multiple = false, camera = false }: PickerOptions = {}) => {
      const input = document.createElement("input");
      input.type = "file";
      input.accept = acceptedTypes;
      input.multiple = multiple;
      if (camera) input.setAttribute("capture", "environment");
      input.addEventListener("change", () => onFiles([...(input.files ?? [])]), { once: true });
      input.click();
    },
    [onFiles],
  );
}

/** Uploads files to the gallery; more than 20 files are refused before one of them is read. */
export function useUploadBatch(): (files: readonly File[]) => void {
  const t = useTranslations("uploads");
  const queries = useQueryClient();
  return useCallback(
    (files) => {
      if (files.length > maxUploadsAtOnce) {
        toastFailure(
          t("tooManyTitle", { max: maxUploadsAtOnce }),
          t("tooManyText", { count: files.length, max: maxUploadsAtOnce }),
        );
        return;
      }
      for (const file of files) {
        const id = addUpload(file, () => {
          dropUpload(id);
          void queries.invalidateQueries({ queryKey: ["images", "list"] });
        });
      }
    },
    [queries, t],
  );
}

function passOn(files: File[]): void {
  if (files.length > 0) currentTarget()?.(files);
}

/** Listens on the whole page. A drop zone that takes a file itself calls `preventDefault`; the event is then ignored here. */
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
      passOn(filesOf(event.dataTransfer));
    };
    const paste = (event: ClipboardEvent) => {
      if (!event.defaultPrevented) passOn(filesOf(event.clipboardData));
    };
    window.addEventListener("dragover", over, { signal });
    window.addEventListener("dragleave", leave, { signal });
    window.addEventListener("drop", drop, { signal });
    window.addEventListener("paste", paste, { signal });
    return () => leaving.abort();
  }, [setOver]);
}

/** Takes pictures that are dropped anywhere on the page, or pasted. */
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

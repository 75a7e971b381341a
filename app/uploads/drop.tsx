"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";
import { keys } from "../client/queries.ts";
import { loadCode } from "../ui/code.ts";
import { useFirstSign } from "../ui/later.tsx";
import { toastDone, toastWithAction } from "../ui/toasts.tsx";
import { allFilesOf, mayBePicture, pastedFiles, wouldLeavePage } from "./collect.ts";
import { acceptedTypes, addUploads } from "./store.ts";

type Take = (files: File[]) => void;

const targets: Take[] = [];

/** Takes files that are dropped on the page or pasted, before the gallery does; of several parts the one that came last. */
export function useFileTarget(take: Take): void {
  const onFiles = useEffectEvent(take);
  // Once for the life of the part: a part whose `take` changes keeps its place among the others.
  useEffect(() => {
    const target: Take = (files) => onFiles(files);
    targets.push(target);
    return () => {
      targets.splice(targets.indexOf(target), 1);
    };
  }, []);
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

/** How often the gallery is read again while a folder goes in. */
const refreshMs = 2_000;

/** Uploads files to the gallery. What is surely no picture is left out, and counted in one sentence. */
export function useUploadBatch(): (files: readonly File[]) => void {
  const t = useTranslations("uploads");
  const queries = useQueryClient();
  const refreshing = useRef<ReturnType<typeof setTimeout> | null>(null);
  return useCallback(
    (files) => {
      const pictures = files.length === 1 ? files : files.filter(mayBePicture);
      const left = files.length - pictures.length;
      if (left > 0) toastDone(t("leftOut", { count: left, taken: pictures.length }));
      addUploads(pictures, () => {
        refreshing.current ??= setTimeout(() => {
          refreshing.current = null;
          void queries.invalidateQueries({ queryKey: keys.imageLists });
        }, refreshMs);
      });
    },
    [queries, t],
  );
}

/** `useUploadBatch`, which also offers the settings that a single picture carries to Create. */
export function useUploadWithOffer(): (files: readonly File[]) => void {
  const t = useTranslations("uploads");
  const router = useRouter();
  const upload = useUploadBatch();
  return useCallback(
    (files) => {
      upload(files);
      const [file, ...others] = files;
      if (file !== undefined && others.length === 0)
        void offerSettings(file, { t, open: () => router.push("/create") });
    },
    [router, t, upload],
  );
}

interface Offer {
  readonly t: (key: "carries" | "useSettings") => string;
  readonly open: () => void;
}

/** A file that cannot be read fails as an upload, which says so; so does one for which the code of the page is gone. */
async function offerSettings(file: File, { t, open }: Offer): Promise<void> {
  const shown = await loadCode(() => import("../carried/shown.ts")).catch(() => null);
  const found = await shown?.settingsIn(file).catch(() => null);
  if (!shown || !found) return;
  toastWithAction({
    title: t("carries"),
    label: t("useSettings"),
    onAction: () => {
      shown.showSettings(found);
      open();
    },
  });
}

interface PageFiles {
  readonly setOver: (isOver: boolean) => void;
  /** Gets the files that no part of the page takes. */
  readonly takeRest: Take;
}

/** Listens on the whole page. A drop zone that takes a file itself calls `preventDefault`; the event is then ignored here. */
function usePageFiles({ setOver, takeRest }: PageFiles): void {
  const passOn = useEffectEvent((files: File[]) => {
    if (files.length > 0) (targets.at(-1) ?? takeRest)(files);
  });
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const over = (event: DragEvent) => {
      if (wouldLeavePage(event)) {
        event.preventDefault();
        if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
      }
      if (!carriesFiles(event.dataTransfer)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (wouldLeavePage(event)) event.preventDefault();
      if (event.defaultPrevented || !carriesFiles(event.dataTransfer)) return;
      event.preventDefault();
      void allFilesOf(event.dataTransfer).then((files) => passOn(files));
    };
    const paste = (event: ClipboardEvent) => {
      if (!event.defaultPrevented) passOn(pastedFiles(event));
    };
    window.addEventListener("dragover", over, { signal });
    window.addEventListener("dragleave", leave, { signal });
    window.addEventListener("drop", drop, { signal });
    window.addEventListener("paste", paste, { signal });
    return () => leaving.abort();
  }, [setOver]);
}

/** Loads what sends a file, so that it is there although the studio may be upgraded before the first file. */
function preloadSender(): void {
  loadCode(() => import("./send.ts")).catch(() => undefined);
}

/** Takes pictures that are dropped anywhere on the page, or pasted. */
export function PageDrop() {
  const t = useTranslations("uploads");
  const [isOver, setOver] = useState(false);
  useFirstSign(preloadSender);
  usePageFiles({ setOver, takeRest: useUploadWithOffer() });
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

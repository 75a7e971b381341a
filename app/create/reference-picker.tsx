"use client";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { type ClipboardEvent, type DragEvent, useCallback, useEffect, useState } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { usePictureUploads } from "../pictures/picture-input.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { later } from "../ui/later.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { filesOf, mayBePicture, pastedFiles } from "../uploads/collect.ts";
import { useForm } from "./form.ts";
import { mostReferences } from "../client/references.ts";
import { addReferences } from "./references.ts";

/** The picture of this studio that is dragged, by its address; null for anything else. */
function draggedImageId(data: DataTransfer): string | null {
  const url = data.getData("text/uri-list");
  if (!URL.canParse(url)) return null;
  const { origin, pathname } = new URL(url);
  return origin === window.location.origin
    ? (/^\/api\/v1\/images\/([0-9a-f-]{36})\/file$/.exec(pathname)?.[1] ?? null)
    : null;
}

/** Ways by which pictures come to the prompt. */
function useReferences(chosen: OfferedWorkflow | undefined) {
  const t = useTranslations("create.references");
  const { references } = useForm();
  const add = useCallback(
    (ids: readonly string[]) => {
      if (addReferences(ids, chosen) > 0) toastFailure(t("full", { most: mostReferences }));
    },
    [chosen, t],
  );
  const onStored = useCallback((id: string) => add([id]), [add]);
  const { isUploading, upload } = usePictureUploads({ most: mostReferences - references.length, onStored });
  /** True when the event was of pictures, which are taken. */
  const takeFiles = (given: readonly File[], event: { preventDefault: () => void }) => {
    const files = given.filter(mayBePicture);
    if (files.length === 0) return;
    event.preventDefault();
    upload(files);
  };
  const over = (event: DragEvent) => {
    if (event.dataTransfer.types.includes("text/uri-list")) event.preventDefault();
  };
  const drop = (event: DragEvent) => {
    if (event.defaultPrevented) return;
    const id = draggedImageId(event.dataTransfer);
    if (id === null) return takeFiles(filesOf(event.dataTransfer), event);
    event.preventDefault();
    add([id]);
  };
  const paste = (event: ClipboardEvent) => takeFiles(pastedFiles(event), event);
  return { add, over, drop, paste, isUploading, upload };
}

/** Takes the pictures that the address names (`?reference=<image id>,<image id>`); without one the choice opens. */
function useReferenceAddress(
  chosen: OfferedWorkflow | undefined,
  { add, open }: { readonly add: (ids: readonly string[]) => void; readonly open: () => void },
): void {
  const named = useSearchParams().get("reference");
  useEffect(() => {
    // Their roles follow from the workflow.
    if (named === null || chosen === undefined) return;
    window.history.replaceState(null, "", window.location.pathname);
    const ids = named.split(",").filter((id) => /^[0-9a-f-]{36}$/.test(id));
    if (ids.length === 0) open();
    else add(ids);
  }, [add, chosen, named, open]);
}

const ReferenceChoices = later(async () => (await import("./reference-choices.tsx")).ReferenceChoices);

interface PickerProps {
  readonly chosen: OfferedWorkflow;
  readonly references: ReturnType<typeof useReferences>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}

/** Chooses a further picture, and takes those of the address. */
export function ReferencePicker({
  chosen,
  references: { add, isUploading, upload },
  isOpen,
  setOpen,
}: PickerProps) {
  const t = useTranslations("create.references");
  const showFailure = useFailureToast();
  const close = useCallback(() => setOpen(false), [setOpen]);
  const onFailure = (error: unknown) => {
    close();
    showFailure(error);
  };
  return (
    <Dialog open={isOpen} onOpenChange={setOpen} title={t("add")}>
      <ReferenceChoices
        isWanted
        onFailure={onFailure}
        props={{ chosen, add, isUploading, upload, onClose: close }}
      />
    </Dialog>
  );
}

/** Whether the choice is open, and what opens it. */
export function useReferencePicker(chosen: OfferedWorkflow | undefined) {
  const [isOpen, setOpen] = useState(false);
  const references = useReferences(chosen);
  const open = useCallback(() => setOpen(true), []);
  useReferenceAddress(chosen, { add: references.add, open });
  return { isOpen, setOpen, open, references };
}

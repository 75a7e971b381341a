"use client";
import { ClipboardPaste, ImagePlus } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { type ClipboardEvent, type DragEvent, useCallback, useEffect, useState } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { GalleryStrip, usePictureUploads } from "../pictures/picture-input.tsx";
import { usePasteButton } from "../studio/inputs.tsx";
import { Button, Spinner } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { filesOf, mayBePicture, pastedFiles } from "../uploads/collect.ts";
import { useFilePicker } from "../uploads/drop.tsx";
import { useForm } from "./form.ts";
import { mostReferences } from "../client/references.ts";
import { useTakesText } from "./reference-list.tsx";
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

interface PickerProps {
  readonly chosen: OfferedWorkflow;
  readonly references: ReturnType<typeof useReferences>;
  readonly onClose: () => void;
}

function Choices({ chosen, references: { add, isUploading, upload }, onClose }: PickerProps) {
  const t = useTranslations("create.references");
  const { references } = useForm();
  const take = useCallback(
    (files: File[]) => {
      upload(files);
      onClose();
    },
    [onClose, upload],
  );
  const pick = useFilePicker(take);
  const paste = usePasteButton(take);
  const isFull = references.length >= mostReferences;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p className="text-sm text-quiet">{useTakesText(chosen)}</p>
      <div className="flex flex-wrap gap-2">
        <Button size="small" disabled={isUploading || isFull} onClick={() => pick({ multiple: true })}>
          {isUploading ? <Spinner /> : <ImagePlus aria-hidden />}
          {t("upload")}
        </Button>
        <Button size="small" look="quiet" disabled={isUploading || isFull} onClick={paste}>
          <ClipboardPaste aria-hidden />
          {t("paste")}
        </Button>
      </div>
      <GalleryStrip
        title={t("fromGallery")}
        leftOut={references.map(({ imageId }) => imageId)}
        chosenId={null}
        onChoose={(id) => {
          add([id]);
          onClose();
        }}
      />
      <p className="text-xs text-quiet">{t("drop")}</p>
    </div>
  );
}

/** Chooses a further picture, and takes those of the address. */
export function ReferencePicker({
  isOpen,
  setOpen,
  ...picker
}: Omit<PickerProps, "onClose"> & {
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}) {
  const t = useTranslations("create.references");
  const close = useCallback(() => setOpen(false), [setOpen]);
  return (
    <Dialog open={isOpen} onOpenChange={setOpen} title={t("add")}>
      <Choices {...picker} onClose={close} />
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

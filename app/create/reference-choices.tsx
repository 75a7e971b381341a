"use client";
import { ClipboardPaste, ImagePlus } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { mostReferences } from "../client/references.ts";
import { GalleryStrip } from "../pictures/gallery-strip.tsx";
import { usePasteButton } from "../studio/inputs.tsx";
import { Button, Spinner } from "../ui/button.tsx";
import { useFilePicker } from "../uploads/drop.tsx";
import { useForm } from "./form.ts";
import { useTakesText } from "./reference-list.tsx";

interface ChoicesProps {
  readonly chosen: OfferedWorkflow;
  readonly add: (imageIds: readonly string[]) => void;
  readonly isUploading: boolean;
  readonly upload: (files: readonly File[]) => void;
  readonly onClose: () => void;
}

/** Where a further picture of a prompt may come from. */
export function ReferenceChoices({ chosen, add, isUploading, upload, onClose }: ChoicesProps) {
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
        most={Math.max(1, mostReferences - references.length)}
        onChoose={(ids) => {
          add(ids);
          onClose();
        }}
      />
      <p className="text-xs text-quiet">{t("drop")}</p>
    </div>
  );
}

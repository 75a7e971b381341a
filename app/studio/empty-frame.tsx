"use client";
import { Camera, ClipboardPaste, ImagePlus } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { Button } from "../ui/button.tsx";
import { useFilePicker } from "../uploads/use-file-picker.ts";
import { SampleRow } from "./sample-row.tsx";
import type { Slot } from "./studio-store.ts";
import { usePasteButton } from "./use-paste-button.ts";

interface Props {
  readonly slot: Slot;
  readonly onFile: (file: File) => void;
}

/** A frame without a picture: every way to bring one. */
export function EmptyFrame({ slot, onFile }: Props) {
  const t = useTranslations("studio");
  const takeFirst = useCallback(
    (files: File[]) => {
      const [first] = files;
      if (first !== undefined) onFile(first);
    },
    [onFile],
  );
  const pick = useFilePicker(takeFirst);
  const paste = usePasteButton(takeFirst);
  return (
    <div className="flex size-full flex-col items-center justify-center gap-6 p-6 text-center wide:max-xl:gap-4 wide:max-xl:p-4">
      <div className="flex flex-col items-center gap-1.5">
        <p className="font-serif text-lg">{t(`empty.${slot}.title`)}</p>
        <p className="max-w-[30ch] text-xs text-quiet">{t(`empty.${slot}.text`)}</p>
      </div>
      <div className="flex flex-wrap justify-center gap-2">
        <Button size="small" onClick={() => pick()}>
          <ImagePlus aria-hidden />
          {t(`empty.${slot}.choose`)}
        </Button>
        <Button size="small" look="quiet" onClick={paste}>
          <ClipboardPaste aria-hidden />
          {t("paste")}
        </Button>
        <Button
          size="small"
          look="quiet"
          className="pointer-fine:hidden"
          onClick={() => pick({ camera: true })}
        >
          <Camera aria-hidden />
          {t("camera")}
        </Button>
      </div>
      <SampleRow slot={slot} onFile={onFile} />
    </div>
  );
}
